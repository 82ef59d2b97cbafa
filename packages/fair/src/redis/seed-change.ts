// What the script returns and publishes: a change of a seed, with its number and the cells it touched.
//
// Anyone may write to Redis and publish there. Entries that are not cells of the structure, or not
// probabilities, are ignored on every read: otherwise a copy could be made to grow without limit.

import { SynclineError } from '@syncline/kernel';
import { type Cells, createCells } from '../cells.js';
import type { Namespace } from '../state/fair-store.js';

// The subset of MessagePack that our scripts use: flat lists of numbers as arguments; numbers, texts and lists
// in replies. Redis has it built in, with one call into C per list.

/** Lua writes larger numbers with 14 digits, which no longer identify a column. */
const NUMBER_MAX = 2 ** 32;

/** Non-negative integers, for names of fields: large ones are sent as text. */
export function packIds(ids: readonly number[]): Buffer {
  const texts = ids.map((id) => (id < NUMBER_MAX ? undefined : String(id)));
  return packList(ids, texts);
}

export function packNumbers(numbers: readonly number[]): Buffer {
  return packList(numbers, []);
}

function packList(numbers: readonly number[], texts: readonly (string | undefined)[]): Buffer {
  const bytes = Buffer.allocUnsafe(5 + numbers.length * 18);
  let at = bytes.writeUInt8(0xdd, 0);
  at = bytes.writeUInt32BE(numbers.length, at);
  for (let index = 0; index < numbers.length; index += 1) {
    const text = texts[index];
    const value = numbers[index] ?? 0;
    if (text !== undefined) {
      at = bytes.writeUInt8(0xa0 | text.length, at);
      at += bytes.write(text, at, 'latin1');
    } else if (Number.isInteger(value) && value >= 0 && value < NUMBER_MAX) {
      if (value >= 128) at = bytes.writeUInt8(0xce, at);
      at = value < 128 ? bytes.writeUInt8(value, at) : bytes.writeUInt32BE(value, at);
    } else {
      at = bytes.writeUInt8(0xcb, at);
      at = bytes.writeDoubleBE(value, at);
    }
  }
  return bytes.subarray(0, at);
}

/** Reads value after value. Anything unreadable was not written by our scripts: `corrupt`. */
export class MessagePackReader {
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** A number, or the number that a text of digits writes. */
  number(): number {
    const kind = this.#view.getUint8(this.#pass(1));
    if (kind < 0x80) return kind;
    if (kind >= 0xe0) return kind - 0x100;
    if ((kind & 0xe0) === 0xa0) return Number(this.#characters(kind & 0x1f));
    if (kind === 0xcb) return this.#view.getFloat64(this.#pass(8));
    const format = NUMBER_FORMATS.get(kind);
    if (format === undefined) throw this.#corrupt(`a number, not 0x${kind.toString(16)}`);
    return format.read(this.#view, this.#pass(format.bytes));
  }

  numbers(): number[] {
    const numbers: number[] = [];
    for (let left = this.#list(); left > 0; left -= 1) numbers.push(this.number());
    return numbers;
  }

  text(): string {
    const kind = this.#view.getUint8(this.#pass(1));
    if ((kind & 0xe0) === 0xa0) return this.#characters(kind & 0x1f);
    if (kind === 0xd9) return this.#characters(this.#view.getUint8(this.#pass(1)));
    throw this.#corrupt(`a string, not 0x${kind.toString(16)}`);
  }

  #list(): number {
    const kind = this.#view.getUint8(this.#pass(1));
    if ((kind & 0xf0) === 0x90) return kind & 0x0f;
    if (kind === 0xdc) return this.#view.getUint16(this.#pass(2));
    if (kind === 0xdd) return this.#view.getUint32(this.#pass(4));
    throw this.#corrupt(`a list, not 0x${kind.toString(16)}`);
  }

  #characters(count: number): string {
    const start = this.#pass(count);
    let text = '';
    for (let at = start; at < start + count; at += 1)
      text += String.fromCharCode(this.#view.getUint8(at));
    return text;
  }

  /** Returns where the next `bytes` bytes begin, and skips them. */
  #pass(bytes: number): number {
    const start = this.#at;
    if (start + bytes > this.#view.byteLength) throw this.#corrupt(`${bytes} more bytes`);
    this.#at += bytes;
    return start;
  }

  #corrupt(wanted: string): SynclineError {
    return new SynclineError(
      'corrupt',
      `unexpected reply from Redis: expected ${wanted} at byte ${this.#at}. Another program probably uses the same keys or channels; use a separate Redis database for fair.`,
    );
  }
}

const NUMBER_FORMATS: ReadonlyMap<
  number,
  { readonly bytes: number; read(view: DataView, at: number): number }
> = new Map([
  [0xca, { bytes: 4, read: (view, at) => view.getFloat32(at) }],
  [0xcc, { bytes: 1, read: (view, at) => view.getUint8(at) }],
  [0xcd, { bytes: 2, read: (view, at) => view.getUint16(at) }],
  [0xce, { bytes: 4, read: (view, at) => view.getUint32(at) }],
  [0xcf, { bytes: 8, read: (view, at) => Number(view.getBigUint64(at)) }],
  [0xd0, { bytes: 1, read: (view, at) => view.getInt8(at) }],
  [0xd1, { bytes: 2, read: (view, at) => view.getInt16(at) }],
  [0xd2, { bytes: 4, read: (view, at) => view.getInt32(at) }],
  [0xd3, { bytes: 8, read: (view, at) => Number(view.getBigInt64(at)) }],
]);

export interface SeedChange {
  /** The writer; `duplicate` in an answer: no change, these are the existing values. */
  readonly origin: string;
  /** Changes of this seed so far, this one included. */
  readonly n: number;
  /** Identifies the incarnation of the seed's keys; a different one means that they were lost in between. */
  readonly incarnation: string;
  readonly cells: Cells;
}

type Shape = Namespace['shape'];

/** Throws `corrupt` for anything but a change. */
export function readSeedChange(bytes: Uint8Array, withTimes: boolean, shape?: Shape): SeedChange {
  const reader = new MessagePackReader(bytes);
  const origin = reader.text();
  const n = reader.number();
  const incarnation = reader.text();
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
  return { origin, n, incarnation, cells };
}

/** Whether a structure has this cell. Without a shape, any whole number is a row or a column. */
export function isPlace(shape: Shape, row: number, column: number): boolean {
  const { levels, columns } = shape ?? { levels: Number.MAX_VALUE, columns: Number.MAX_VALUE };
  const isWhole = Number.isSafeInteger(row) && Number.isSafeInteger(column);
  return isWhole && row >= 0 && column >= 0 && row < levels && column < columns;
}
