// Writes the protobuf wire format into a buffer that grows and is used again.
//
// A field that has its default is left out, as proto3 says. The length of a nested message is known only at its
// end: one byte is kept for it, and a body of 128 bytes or more moves up to make room.
import { assert } from '@syncline/kernel';

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;

const START_BYTES = 4_096;
const VARINT_BYTES_MAX = 10;
const HEAD_BYTES_MAX = 1 + VARINT_BYTES_MAX;

export class ProtoWriter {
  #bytes = Buffer.allocUnsafe(START_BYTES);
  #end = 0;

  /** Bytes written so far. */
  get length(): number {
    return this.#end;
  }

  clear(): void {
    this.#end = 0;
  }

  /** A copy of what was written from `start` on. */
  copy(start = 0): Uint8Array {
    const bytes = Buffer.allocUnsafe(this.#end - start);
    this.#bytes.copy(bytes, 0, start, this.#end);
    return bytes;
  }

  /** Takes back what was written from `start` on. */
  cut(start: number): void {
    this.#end = start;
  }

  /** A whole number from 0 to 2^53 - 1. */
  uint(number: number, value: number): void {
    if (value !== 0) this.presentUint(number, value);
  }

  /** Also when it is 0: for a field whose absence means something else. */
  presentUint(number: number, value: number): void {
    assert(value >= 0, 'a uint is not negative');
    this.#reserve(HEAD_BYTES_MAX);
    this.#tag(number, VARINT);
    this.#varint(value);
  }

  /** An int32 in zigzag. */
  sint(number: number, value: number): void {
    this.uint(number, ((value << 1) ^ (value >> 31)) >>> 0);
  }

  /** Also when it is 0. */
  double(number: number, value: number): void {
    this.#reserve(HEAD_BYTES_MAX);
    this.#tag(number, FIXED64);
    this.#end = this.#bytes.writeDoubleLE(value, this.#end);
  }

  bool(number: number, value: boolean): void {
    this.uint(number, value ? 1 : 0);
  }

  text(number: number, value: string): void {
    if (value !== '') this.presentText(number, value);
  }

  presentText(number: number, value: string): void {
    const bytesMax = 3 * value.length; // UTF-8 takes no more for a unit of a string
    this.#reserve(HEAD_BYTES_MAX + bytesMax);
    this.#tag(number, DELIMITED);
    if (bytesMax < 0x80) {
      const length = this.#bytes.write(value, this.#end + 1);
      this.#bytes[this.#end] = length;
      this.#end += 1 + length;
      return;
    }
    this.#varint(Buffer.byteLength(value));
    this.#end += this.#bytes.write(value, this.#end);
  }

  /** A nested message that was written before. */
  message(number: number, bytes: Uint8Array): void {
    this.#reserve(HEAD_BYTES_MAX + bytes.length);
    this.#tag(number, DELIMITED);
    this.#varint(bytes.length);
    this.fields(bytes);
  }

  /** Fields that were written before. */
  fields(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Begins a nested message; hand what it returns to `end`. */
  begin(number: number): number {
    this.#reserve(HEAD_BYTES_MAX);
    this.#tag(number, DELIMITED);
    this.#end += 1;
    return this.#end;
  }

  end(start: number): void {
    const length = this.#end - start;
    if (length < 0x80) {
      this.#bytes[start - 1] = length;
      return;
    }
    this.#reserve(VARINT_BYTES_MAX);
    const bodyStart = start - 1 + varintBytes(length);
    this.#bytes.copyWithin(bodyStart, start, this.#end);
    this.#end = start - 1;
    this.#varint(length);
    this.#end = bodyStart + length;
  }

  #reserve(bytesCount: number): void {
    if (this.#bytes.length - this.#end >= bytesCount) return;
    const grown = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#end + bytesCount));
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#bytes = grown;
  }

  #tag(number: number, wireType: number): void {
    assert(number < 16, 'a field number takes one byte');
    this.#bytes[this.#end] = (number << 3) | wireType;
    this.#end += 1;
  }

  #varint(value: number): void {
    const bytes = this.#bytes;
    let at = this.#end;
    let rest = value;
    for (; rest > 0x7fff_ffff; rest = Math.floor(rest / 0x80)) {
      bytes[at] = (rest % 0x80) | 0x80;
      at += 1;
    }
    for (; rest >= 0x80; rest >>>= 7) {
      bytes[at] = (rest & 0x7f) | 0x80;
      at += 1;
    }
    bytes[at] = rest;
    this.#end = at + 1;
  }
}

function varintBytes(value: number): number {
  let bytesCount = 1;
  for (let rest = value; rest >= 0x80; rest >>>= 7) bytesCount += 1;
  return bytesCount;
}
