// What the script answers and publishes: a change of a seed, with its number and the cells it touched.
import { type Cells, createCells } from '../cells.js';
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

/** Throws `corrupt` for anything but a change. */
export function readSeedChange(bytes: Uint8Array, withTimes: boolean): SeedChange {
  const reader = new MessagePackReader(bytes);
  const origin = reader.text();
  const n = reader.number();
  const life = reader.text();
  const nowMs = reader.number();
  const places = reader.numbers();
  const values = reader.numbers();
  const times = withTimes ? reader.numbers() : [];
  const cells = createCells(values.length);
  for (let at = 0; at < places.length; ) {
    const row = places[at] ?? 0;
    const end = at + 2 + (places[at + 1] ?? 0);
    for (at += 2; at < end; at += 1) {
      if (cells.count === values.length) return { origin, n, life, cells };
      cells.rows[cells.count] = row;
      cells.columns[cells.count] = places[at] ?? 0;
      cells.probabilities[cells.count] = values[cells.count] ?? 0;
      cells.timesMs[cells.count] = times[cells.count] ?? nowMs;
      cells.count += 1;
    }
  }
  return { origin, n, life, cells };
}
