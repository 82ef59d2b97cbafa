// Reads what ByteWriter wrote, from untrusted bytes.
//
// Every read checks that enough bytes are left and that numbers are in their shortest form, so that equal content
// means equal bytes. Any violation throws `corrupt` with the offset, what was expected and what was found.
import { corrupt } from '../state/state-error.js';

const HIGH_WORD = 2 ** 32;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export class ByteReader {
  /** What is being read, for error messages, such as `snapshot`. */
  readonly source: string;
  readonly #bytes: Buffer;
  readonly #plain: Uint8Array;
  readonly #end: number;
  #at: number;

  constructor(source: string, bytes: Uint8Array, start = 0, end = bytes.length) {
    this.source = source;
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#plain = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** Offset of the next byte, from the start of the bytes. */
  get at(): number {
    return this.#at;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  /** A separate reader for the bytes from `start` up to `end`. Offsets are still relative to the whole input. */
  part(start: number, end: number): ByteReader {
    return new ByteReader(this.source, this.#plain, start, end);
  }

  /** The bytes of the whole input from `start` up to `end`. */
  view(start: number, end: number): Uint8Array {
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + start, end - start);
  }

  /** Compares two ranges of the whole input bytewise. */
  compare(left: ByteRange, right: ByteRange): number {
    return this.#bytes.compare(this.#bytes, right.start, right.end, left.start, left.end);
  }

  fail(expected: string, found: string, offset = this.#at): never {
    throw corrupt(this.source, { offset, expected, found });
  }

  u8(): number {
    return this.#bytes[this.#take(1)] as number;
  }

  u16(): number {
    return this.#bytes.readUInt16BE(this.#take(2));
  }

  u32(): number {
    return this.#bytes.readUInt32BE(this.#take(4));
  }

  /** Up to 2^53 - 1. */
  u64(): number {
    const start = this.#at;
    const value = this.u32() * HIGH_WORD + this.u32();
    if (value > Number.MAX_SAFE_INTEGER) this.fail('a number below 2^53', String(value), start);
    return value;
  }

  /** A safe integer. */
  i64(): number {
    const start = this.#at;
    const value = (this.u32() | 0) * HIGH_WORD + this.u32();
    if (!Number.isSafeInteger(value)) this.fail('a safe integer', String(value), start);
    return value;
  }

  varint(): number {
    const start = this.#at;
    let value = 0;
    for (let unit = 1; ; unit *= 0x80) {
      const byte = this.u8();
      value += (byte & 0x7f) * unit;
      if (value > Number.MAX_SAFE_INTEGER) this.fail('a number below 2^53', 'more', start);
      if (byte < 0x80) {
        if (byte === 0 && unit > 1) this.fail('the shortest form of a number', 'padding', start);
        return value;
      }
    }
  }

  zigzag(): number {
    const start = this.#at;
    const first = this.u8();
    let magnitude = (first & 0x7f) >> 1;
    if (first >= 0x80) {
      const rest = this.varint();
      if (rest === 0) this.fail('the shortest form of a number', 'padding', start);
      magnitude += rest * 0x40;
    }
    const value = first & 1 ? -magnitude - 1 : magnitude;
    if (!Number.isSafeInteger(value)) this.fail('a safe integer', String(value), start);
    return value;
  }

  /** A view of the next `count` bytes. */
  bytes(count: number): Uint8Array {
    const start = this.#take(count);
    return this.view(start, start + count);
  }

  skip(count: number): void {
    this.#take(count);
  }

  /** The next `count` bytes as text. */
  utf8(count: number): string {
    const start = this.#take(count);
    for (let index = start; index < this.#at; index += 1) {
      if ((this.#bytes[index] as number) < 0x80) continue;
      try {
        return decoder.decode(this.view(start, this.#at));
      } catch {
        return this.fail('UTF-8', 'other bytes', start);
      }
    }
    return this.#bytes.toString('latin1', start, this.#at);
  }

  #take(count: number): number {
    const start = this.#at;
    if (count > this.left) {
      this.fail(`${count} more bytes`, this.left === 0 ? 'the end' : `only ${this.left}`);
    }
    this.#at = start + count;
    return start;
  }
}
