// Byte strings that lie in one buffer, named by their index: the arguments of a command, or members.
//
// A command of three arguments would else cost three views of its bytes; at half a million commands a
// second those are the largest part. Whoever reads a list on the hot path takes `buffer` with a start
// and an end; everybody else asks for `bytes` or `text`.
import { assert } from '@syncline/kernel';

const ITEMS_MIN = 16;
/** Room for more is given back: each connection has a list for as long as it stands. */
const ITEMS_KEPT_MAX = 4_096;

/** Bytes of a list belong to who made it and change with its next use; `keep` makes a copy that stays. */
export class ByteList {
  buffer: Uint8Array;
  view: DataView;
  length = 0;
  /** The bytes are only valid until the end of the call that brought them. */
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

  /** Copies the items, a million if need be, into a buffer of their own. */
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
    if (this.#starts.length > ITEMS_KEPT_MAX) this.#shrink();
  }

  /** Other bytes for the same items: a larger buffer that begins with a copy of the present one. */
  moveTo(buffer: Uint8Array): void {
    this.buffer = buffer;
    const { view } = this;
    // Reads often come in the same memory, and making a view takes as long as a short command.
    const isCovered =
      view.buffer === buffer.buffer &&
      view.byteOffset === buffer.byteOffset &&
      view.byteLength >= buffer.byteLength;
    if (!isCovered) this.view = viewOf(buffer);
  }

  /** Copies bytes that are borrowed: before waiting for anything, and before views of them are kept. */
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

  start(index: number): number {
    return this.#starts[index] ?? 0;
  }

  end(index: number): number {
    return this.#ends[index] ?? 0;
  }

  /** From the first byte of the first item to the last of the last one: no item is larger. */
  get span(): number {
    return this.end(this.length - 1) - this.start(0);
  }

  /** Bytes of one item. */
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

  /** A copy with bytes of its own, from one index on. */
  keep(from = 0): ByteList {
    let size = 0;
    for (let index = from; index < this.length; index += 1) size += this.sizeOf(index);
    const list = new ByteList(new Uint8Array(size));
    let position = 0;
    for (let index = from; index < this.length; index += 1) {
      list.buffer.set(this.bytes(index), position);
      list.push(position, position + this.sizeOf(index));
      position += this.sizeOf(index);
    }
    return list;
  }

  #shrink(): void {
    this.#starts = new Int32Array(ITEMS_MIN);
    this.#ends = new Int32Array(ITEMS_MIN);
  }

  #grow(): void {
    const starts = new Int32Array(this.#starts.length * 2);
    const ends = new Int32Array(this.#ends.length * 2);
    starts.set(this.#starts);
    ends.set(this.#ends);
    this.#starts = starts;
    this.#ends = ends;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}
