// What the script returns and publishes: a change of a seed, with its number and the cells it touched.
//
// Anyone may write to Redis and publish there. Entries that are not cells of the structure, or not
// probabilities, are ignored on every read: otherwise a copy could be made to grow without limit.
import { type Cells, createCells } from '../cells.js';
import type { Namespace } from '../state/fair-store.js';
import { MessagePackReader } from './message-pack.js';

export interface SeedChange {
  /** The writer; `duplicate` in an answer: no change, these are the existing values. */
  readonly origin: string;
  /** Changes of this seed so far, this one included. */
  readonly n: number;
  /** Identifies the incarnation of the seed's keys; a different one means that they were lost in between. */
  readonly life: string;
  readonly cells: Cells;
}

type Shape = Namespace['shape'];

/** Throws `corrupt` for anything but a change. */
export function readSeedChange(bytes: Uint8Array, withTimes: boolean, shape?: Shape): SeedChange {
  const reader = new MessagePackReader(bytes);
  const origin = reader.text();
  const n = reader.number();
  const life = reader.text();
  const nowMs = reader.number();
  const places = reader.numbers();
  const values = reader.numbers();
  const times = withTimes ? reader.numbers() : [];
  const cells = createCells(values.length);
  let index = 0;
  for (let at = 0; at < places.length; ) {
    const row = places[at] ?? 0;
    const end = at + 2 + (places[at + 1] ?? 0);
    for (at += 2; at < end && index < values.length; at += 1, index += 1) {
      const column = places[at] ?? 0;
      const probability = values[index] ?? 0;
      if (!isPlace(shape, row, column) || !(probability >= 0 && probability <= 1)) continue;
      cells.rows[cells.count] = row;
      cells.columns[cells.count] = column;
      cells.probabilities[cells.count] = probability;
      cells.timesMs[cells.count] = times[index] ?? nowMs;
      cells.count += 1;
    }
    if (index === values.length) break;
  }
  return { origin, n, life, cells };
}

/** Whether a structure has this cell. Without a shape, any whole number is a row or a column. */
export function isPlace(shape: Shape, row: number, column: number): boolean {
  const { levels, columns } = shape ?? { levels: Number.MAX_VALUE, columns: Number.MAX_VALUE };
  const isWhole = Number.isSafeInteger(row) && Number.isSafeInteger(column);
  return isWhole && row >= 0 && column >= 0 && row < levels && column < columns;
}
