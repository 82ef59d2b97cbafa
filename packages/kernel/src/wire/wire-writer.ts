// Writes the Protobuf wire format into a buffer that grows and is reused.
//
// A field with its default value is left out, as in proto3; the calls named `present` write it anyway, for fields
// whose absence means something else. The length of a nested message is known only at its end: one byte is reserved
// for it, and a body of 128 bytes or more moves up to make room.
import { assert } from '../assert.js';
import { wireTypes } from './wire-reader.js';

const bytesAtFirst = 4_096;
const uint32End = 2 ** 32;
const lengthBytesMax = 5;
const headBytesMax = 15; // a tag, and a varint of 64 bits

/** Bytes that a number below 2^32 takes: seven bits a byte, lowest first, all but the last marked. */
export function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}

/** Writes a number below 2^32; returns the position after it. */
export function writeVarint(bytes: Uint8Array, position: number, value: number): number {
  let at = position;
  let rest = value;
  while (rest >= 0x80) {
    bytes[at] = rest | 0x80; // the array keeps the low 8 bits
    at += 1;
    rest >>>= 7;
  }
  bytes[at] = rest;
  return at + 1;
}

export class WireWriter {
  #bytes = Buffer.allocUnsafe(bytesAtFirst);
  #view = viewOf(this.#bytes);
  #end = 0;
  /** Up to here there is room for one more number, with its tag. */
  #roomyEnd = bytesAtFirst - headBytesMax;

  /** Bytes written so far. */
  get length(): number {
    return this.#end;
  }

  clear(): void {
    this.#end = 0;
  }

  /** A copy of what was written from `start` on. */
  copy(start = 0): Buffer {
    const bytes = Buffer.allocUnsafe(this.#end - start);
    this.#bytes.copy(bytes, 0, start, this.#end);
    return bytes;
  }

  /** Removes what was written from `start` on. */
  cut(start: number): void {
    this.#end = start;
  }

  /** An integer from 0 to 2^53 - 1. */
  uint(field: number, value: number): void {
    if (value !== 0) this.presentUint(field, value);
  }

  presentUint(field: number, value: number): void {
    this.#writeVarint(this.#head(field, wireTypes.varint), value);
  }

  bigint(field: number, value: bigint): void {
    if (value === 0n) return;
    let at = this.#head(field, wireTypes.varint);
    let rest = BigInt.asUintN(64, value);
    for (; rest >= 0x80n; rest >>= 7n) {
      this.#bytes[at] = Number(rest & 0x7fn) | 0x80;
      at += 1;
    }
    this.#bytes[at] = Number(rest);
    this.#end = at + 1;
  }

  /** A negative one takes 64 bits on the wire. */
  int32(field: number, value: number): void {
    if (value < 0) this.bigint(field, BigInt(value));
    else this.uint(field, value);
  }

  /** An int32 in zigzag. */
  sint(field: number, value: number): void {
    this.uint(field, ((value << 1) ^ (value >> 31)) >>> 0);
  }

  bool(field: number, value: boolean): void {
    this.uint(field, value ? 1 : 0);
  }

  double(field: number, value: number): void {
    if (!Object.is(value, 0)) this.presentDouble(field, value);
  }

  presentDouble(field: number, value: number): void {
    const at = this.#head(field, wireTypes.fixed64);
    this.#view.setFloat64(at, value, true);
    this.#end = at + 8;
  }

  fixed64(field: number, value: bigint): void {
    if (value === 0n) return;
    const at = this.#head(field, wireTypes.fixed64);
    this.#view.setBigUint64(at, value, true);
    this.#end = at + 8;
  }

  fixed32(field: number, value: number): void {
    if (value === 0) return;
    const at = this.#head(field, wireTypes.fixed32);
    this.#view.setUint32(at, value, true);
    this.#end = at + 4;
  }

  text(field: number, value: string): void {
    if (value !== '') this.presentText(field, value);
  }

  presentText(field: number, value: string): void {
    const bytesMax = 3 * value.length; // UTF-8 takes no more for a unit of a string
    this.#reserve(headBytesMax + bytesMax);
    const at = this.#head(field, wireTypes.delimited);
    if (bytesMax < 0x80) {
      const length = this.#bytes.write(value, at + 1);
      this.#bytes[at] = length;
      this.#end = at + 1 + length;
      return;
    }
    const start = writeVarint(this.#bytes, at, Buffer.byteLength(value));
    this.#end = start + this.#bytes.write(value, start);
  }

  bytes(field: number, value: Uint8Array): void {
    if (value.length > 0) this.message(field, value);
  }

  /** A nested message that is already encoded, even if it is empty. */
  message(field: number, bytes: Uint8Array): void {
    this.#writeVarint(this.#head(field, wireTypes.delimited), bytes.length);
    this.fields(bytes);
  }

  /** Fields that are already encoded. */
  fields(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Begins a nested message; pass what it returns to `end`. */
  begin(field: number): number {
    this.#end = this.#head(field, wireTypes.delimited) + 1;
    return this.#end;
  }

  end(start: number): void {
    const length = this.#end - start;
    if (length < 0x80) {
      this.#bytes[start - 1] = length;
      return;
    }
    this.#reserve(lengthBytesMax);
    const bodyStart = start - 1 + varintBytes(length);
    this.#bytes.copyWithin(bodyStart, start, this.#end);
    writeVarint(this.#bytes, start - 1, length);
    this.#end = bodyStart + length;
  }

  /** Makes room for a tag and a number, and writes the tag; returns the position after it. */
  #head(field: number, wireType: number): number {
    if (this.#end > this.#roomyEnd) this.#reserve(headBytesMax);
    const tag = (field << 3) | wireType;
    if (tag >= 0x80) return writeVarint(this.#bytes, this.#end, tag);
    this.#bytes[this.#end] = tag;
    return this.#end + 1;
  }

  #writeVarint(at: number, value: number): void {
    if (value < uint32End) {
      this.#end = writeVarint(this.#bytes, at, value);
      return;
    }
    assert(value <= Number.MAX_SAFE_INTEGER, 'an integer up to 2^53 - 1');
    let low = value % 0x1000_0000; // four bytes carry 28 bits; what is above them is below 2^25
    for (let index = at; index < at + 4; index += 1) {
      this.#bytes[index] = low | 0x80;
      low >>>= 7;
    }
    this.#end = writeVarint(this.#bytes, at + 4, Math.floor(value / 0x1000_0000));
  }

  #reserve(bytesCount: number): void {
    if (this.#bytes.length - this.#end >= bytesCount) return;
    const grown = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#end + bytesCount));
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#bytes = grown;
    this.#view = viewOf(grown);
    this.#roomyEnd = grown.length - headBytesMax;
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
