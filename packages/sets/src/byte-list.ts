// Byte strings in one buffer, identified by their index: the arguments of a command, or members.
//
// Otherwise a command of three arguments would cost three views of its bytes; at half a million commands a second,
// those would be the largest cost. Readers on the hot path use `buffer` with a start and an end; all others use
// `bytes` or `text`.
import { assert } from '@syncline/kernel';

const ITEMS_MIN = 16;
const LOOP_BYTES_MAX = 48;
const BYTES_MIN = 256;
const GATHERED_KEPT_MAX = 16_384;
/** Capacity above this is released: each connection keeps a list for as long as it is open. */
const ITEMS_KEPT_MAX = 4_096;

/** The bytes of a list belong to its creator and change with its next use; `keep` makes a copy that stays. */
export class ByteList {
  buffer: Uint8Array;
  view: DataView;
  length = 0;
  /** The bytes are only valid until the end of the call that passed them. */
  isBorrowed = false;
  #starts = new Int32Array(ITEMS_MIN);
  #ends = new Int32Array(ITEMS_MIN);

  constructor(buffer: Uint8Array) {
    this.buffer = buffer;
    this.view = viewOf(buffer);
  }

  static of(...items: readonly Uint8Array[]): ByteList {
    return ByteList.from(items);
  }

  /** Copies the items, possibly a million, into a separate buffer. */
  static from(items: readonly Uint8Array[]): ByteList {
    const list = new ByteList(Buffer.concat(items));
    let position = 0;
    for (const item of items) {
      list.push(position, position + item.length);
      position += item.length;
    }
    return list;
  }

  /** Starts over with other bytes. `isBorrowed`: they change soon, see `own`. */
  reset(buffer: Uint8Array, isBorrowed = false): void {
    if (buffer !== this.buffer) this.moveTo(buffer);
    this.isBorrowed = isBorrowed;
    this.length = 0;
    if (this.#starts.length <= ITEMS_KEPT_MAX) return;
    this.#starts = new Int32Array(ITEMS_MIN);
    this.#ends = new Int32Array(ITEMS_MIN);
  }

  /** Replaces the bytes of the same items: with a larger buffer that begins with a copy of the current one. */
  moveTo(buffer: Uint8Array): void {
    this.buffer = buffer;
    const { view } = this;
    // Reads often arrive in the same memory, and creating a view takes as long as a short command.
    const isCovered =
      view.buffer === buffer.buffer &&
      view.byteOffset === buffer.byteOffset &&
      view.byteLength >= buffer.byteLength;
    if (!isCovered) this.view = viewOf(buffer);
  }

  /** Copies borrowed bytes. Called before waiting for anything, and before keeping views of them. */
  own(): void {
    if (!this.isBorrowed) return;
    this.isBorrowed = false;
    const from = this.start(0);
    this.moveTo(new Uint8Array(this.buffer.subarray(from, from + this.span))); // slice of a Buffer is no copy
    for (let index = 0; index < this.length; index += 1) {
      this.#starts[index] = this.start(index) - from;
      this.#ends[index] = this.end(index) - from;
    }
  }

  push(start: number, end: number): void {
    if (this.length === this.#starts.length) this.#grow();
    this.#starts[this.length] = start;
    this.#ends[this.length] = end;
    this.length += 1;
  }

  /** Replaces the last item, in the same buffer. */
  replaceLast(start: number, end: number): void {
    this.#starts[this.length - 1] = start;
    this.#ends[this.length - 1] = end;
  }

  start(index: number): number {
    return this.#starts[index] ?? 0;
  }

  end(index: number): number {
    return this.#ends[index] ?? 0;
  }

  /** From the first byte of the first item to the last byte of the last one: no item is larger. */
  get span(): number {
    return this.end(this.length - 1) - this.start(0);
  }

  sizeOf(index: number): number {
    return this.end(index) - this.start(index);
  }

  /** A view, not a copy. */
  bytes(index: number): Uint8Array {
    assert(index >= 0 && index < this.length, 'the index lies in the list');
    return this.buffer.subarray(this.start(index), this.end(index));
  }

  /** One character per byte, so that different bytes give different texts. */
  text(index: number): string {
    return latin1(this.buffer, this.start(index), this.end(index));
  }

  /** A copy with its own bytes, from one index on. */
  keep(from = 0): ByteList {
    let size = 0;
    for (let index = from; index < this.length; index += 1) size += this.sizeOf(index);
    const list = new ByteList(new Uint8Array(size));
    let position = 0;
    for (let index = from; index < this.length; index += 1) {
      copyBytes(this.buffer, this.start(index), this.end(index), list.buffer, position);
      list.push(position, position + this.sizeOf(index));
      position += this.sizeOf(index);
    }
    return list;
  }

  #grow(): void {
    this.#starts = doubled(this.#starts);
    this.#ends = doubled(this.#ends);
  }
}

/**
 * Byte strings collected into one growing buffer: the members of a result, or those of a change that is being prepared.
 * Its `list` can be passed to the keyspace and to a reply.
 */
export class ByteCollector {
  readonly list = new ByteList(new Uint8Array(BYTES_MIN));
  bytes = 0;

  /** Copies the bytes and returns their index in the list. */
  push(buffer: Uint8Array, start: number, end: number): number {
    const { list } = this;
    const next = this.bytes + end - start;
    if (next > list.buffer.length) list.moveTo(grown(list.buffer, this.bytes, next));
    copyBytes(buffer, start, end, list.buffer, this.bytes);
    list.push(this.bytes, next);
    this.bytes = next;
    return list.length - 1;
  }

  pushBytes(bytes: Uint8Array): number {
    return this.push(bytes, 0, bytes.length);
  }

  pushItem(list: ByteList, index: number): number {
    return this.push(list.buffer, list.start(index), list.end(index));
  }

  truncate(length: number): void {
    if (length >= this.list.length) return;
    this.bytes = this.list.start(length);
    this.list.length = length;
  }
}

/** Bytes appended to one growing buffer. */
export class GatheredBytes {
  buffer: Uint8Array = new Uint8Array(0);
  length = 0;

  /** Releases a large buffer. */
  clear(): void {
    this.length = 0;
    if (this.buffer.length > GATHERED_KEPT_MAX) this.buffer = new Uint8Array(0);
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    const length = this.length + end - start;
    if (length > this.buffer.length) this.buffer = grown(this.buffer, this.length, length);
    copyBytes(bytes, start, end, this.buffer, this.length);
    this.length = length;
  }
}

/** The same numbers, followed by zeros. */
export function doubled(numbers: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
}

function grown(bytes: Uint8Array, used: number, bytesMin: number): Uint8Array {
  const larger = new Uint8Array(Math.max(BYTES_MIN, bytes.length * 2, bytesMin));
  copyBytes(bytes, 0, used, larger, 0);
  return larger;
}

/** A loop is faster for short copies: a native copy needs a view of its source. */
export function copyBytes(
  from: Uint8Array,
  start: number,
  end: number,
  to: Uint8Array,
  at: number,
): void {
  if (end - start > LOOP_BYTES_MAX) to.set(from.subarray(start, end), at);
  else
    for (let offset = at - start, byte = start; byte < end; byte += 1)
      to[offset + byte] = from[byte] as number;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}
