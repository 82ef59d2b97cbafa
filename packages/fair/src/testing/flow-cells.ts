// Which cells a flow has in the structure of a seed, for tests that compare the cells of a service with
// what an instance decides by.
import { columnAt, KeyedHash } from '../key-hash.js';

export interface FlowCellsOptions {
  readonly secret: string;
  readonly levels: number;
  readonly columns: number;
}

/** Numbered level by level: the row is `cell / columns`, rounded down, and the column what is left. */
export function cellsOfFlow(
  { secret, levels, columns }: FlowCellsOptions,
  key: string,
  seed: number,
): readonly number[] {
  const hash = new KeyedHash(Buffer.from(secret));
  const words = new Uint32Array(2);
  hash.digest(key);
  hash.locate(hash.saltOf(seed), words);
  return Array.from(
    { length: levels },
    (_, level) => level * columns + columnAt(words, level, columns),
  );
}
