// Writes the protobuf wire format into one buffer that grows and is used again for every message.
//
// A field that has its default is left out, as proto3 says. Room is asked for once per group of fields,
// so the writes themselves check nothing: `reserve` comes first, always.
import { assert } from '@syncline/kernel';

/** A tag, which is one byte for the numbers that the contract uses, and a varint of 64 bits. */
export const integerFieldBytesMax = 11;
export const doubleFieldBytesMax = 9;

/** Room for a tag and a length that are written last: the body, which they precede, must be known. */
const headBytesMax = 11;
const startBytes = 4_096;
const uint32End = 0x1_0000_0000;
const uint64Max = 0xffff_ffff_ffff_ffffn;

const utf8 = new TextEncoder();

export class WireWriter {
  #bytes = new Uint8Array(startBytes);
  #view = new DataView(this.#bytes.buffer);
  #position = headBytesMax;

  start(): void {
    this.#position = headBytesMax;
  }

  /** A copy of what was written. */
  finish(): Uint8Array {
    this.#checkRoom();
    return this.#bytes.slice(headBytesMax, this.#position);
  }

  /** A copy of what was written, as the nested message `field` of an outer one. */
  finishNested(field: number): Uint8Array {
    this.#checkRoom();
    const end = this.#position;
    const length = end - headBytesMax;
    const start = headBytesMax - 1 - varintBytes(length);
    this.#position = start;
    this.#tag(field, 2);
    this.#varint(length);
    return this.#bytes.slice(start, end);
  }

  reserve(bytesCount: number): void {
    if (this.#bytes.length - this.#position >= bytesCount) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.#position + bytesCount));
    grown.set(this.#bytes);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }

  /** A whole number up to 2^53 - 1; Infinity, which no receiver lets pass, goes out as the highest uint64. */
  integer(field: number, value: number): void {
    if (value === 0) return;
    this.#tag(field, 0);
    this.#varint(value);
  }

  bigint(field: number, value: bigint): void {
    if (value === 0n) return;
    this.#tag(field, 0);
    this.#bigVarint(value);
  }

  /** Open enumerations are int32: a negative one takes 64 bits on the wire. */
  int32(field: number, value: number): void {
    this.bigint(field, BigInt.asUintN(64, BigInt(value)));
  }

  bool(field: number, value: boolean): void {
    this.integer(field, value ? 1 : 0);
  }

  double(field: number, value: number): void {
    if (!Object.is(value, 0)) this.presentDouble(field, value);
  }

  /** Also when it is 0: for a field whose absence means something else. */
  presentDouble(field: number, value: number): void {
    this.#tag(field, 1);
    this.#view.setFloat64(this.#position, value, true);
    this.#position += 8;
  }

  fixed64(field: number, value: bigint): void {
    if (value === 0n) return;
    this.#tag(field, 1);
    this.#view.setBigUint64(this.#position, value, true);
    this.#position += 8;
  }

  /** Reserves its own room. */
  string(field: number, text: string): void {
    if (text === '') return;
    const bytes = utf8.encode(text);
    this.reserve(bytes.length + integerFieldBytesMax);
    this.#tag(field, 2);
    this.#varint(bytes.length);
    this.#bytes.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  /** Begins a nested message of less than 128 bytes; pass what it returns to `endShort`. */
  beginShort(field: number): number {
    this.#tag(field, 2);
    this.#position += 1;
    return this.#position;
  }

  endShort(start: number): void {
    const length = this.#position - start;
    assert(length < 0x80, 'a short message has a length of one byte');
    this.#bytes[start - 1] = length;
  }

  /** A write behind the end of an array is lost without a word. */
  #checkRoom(): void {
    assert(this.#position <= this.#bytes.length, 'room was reserved for all that was written');
  }

  #tag(field: number, wireType: number): void {
    this.#bytes[this.#position] = (field << 3) | wireType;
    this.#position += 1;
  }

  #varint(value: number): void {
    if (value >>> 0 !== value) {
      this.#longVarint(value);
      return;
    }
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#position] = rest | 0x80; // the array keeps the low 8 bits
      this.#position += 1;
      rest >>>= 7;
    }
    this.#bytes[this.#position] = rest;
    this.#position += 1;
  }

  /** Four bytes carry 28 bits; what is above them is below 2^25. */
  #longVarint(value: number): void {
    if (value === Number.POSITIVE_INFINITY) {
      this.#bigVarint(uint64Max);
      return;
    }
    assert(Number.isSafeInteger(value) && value >= uint32End, 'a whole number up to 2^53 - 1');
    let low = value % 0x1000_0000;
    for (let index = 0; index < 4; index += 1) {
      this.#bytes[this.#position] = low | 0x80;
      this.#position += 1;
      low >>>= 7;
    }
    this.#varint(Math.floor(value / 0x1000_0000));
  }

  #bigVarint(value: bigint): void {
    assert(value >= 0n && value <= uint64Max, 'a uint64');
    let rest = value;
    while (rest >= 0x80n) {
      this.#bytes[this.#position] = Number(rest & 0x7fn) | 0x80;
      this.#position += 1;
      rest >>= 7n;
    }
    this.#bytes[this.#position] = Number(rest);
    this.#position += 1;
  }
}

function varintBytes(value: number): number {
  let bytesCount = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytesCount += 1;
  return bytesCount;
}
