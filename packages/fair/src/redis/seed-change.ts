// What the script answers and publishes: a change of a seed, with its number and the cells it touched.
//
// Anyone may write to Redis and publish there. What is no cell of the structure, or no probability, is left
// out wherever it is read: a copy would grow with the highest row that someone made up.
import { type Cells, createCells } from '../cells.js';
import type { Namespace } from '../state/fair-store.js';
import { MessagePackReader } from './message-pack.js';

export interface SeedChange {
  /** Who made it; `duplicate` in an answer: nobody, these are the values as they were. */
  readonly origin: string;
  /** Changes of this seed so far, this one included. */
  readonly n: number;
  /** Names the life of the seed's keys; another one: they were lost meanwhile. */
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
