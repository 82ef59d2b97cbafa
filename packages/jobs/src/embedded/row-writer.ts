// Writes the fields of a row one behind the other and seals it with a CRC-32 over key and value.
//
// One buffer serves all rows of a store: a row is copied into its batch at once. The key is part of the
// checksum, so that a row which turns up under another key is noticed.
//
// Whole numbers from 0 are varints (7 bits a byte, low ones first); texts are UTF-8 behind their length.
import { assert, crc32 } from '@syncline/kernel';

const BYTES_FIRST = 4_096;
export const SEAL_BYTES = 4;

export class RowWriter {
  #bytes = Buffer.allocUnsafe(BYTES_FIRST);
  #length = 0;

  /** Begins a row, and forgets the one before. */
  start(): this {
    this.#length = 0;
    return this;
  }

  byte(value: number): this {
    this.#reserve(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
    return this;
  }

  int32(value: number): this {
    this.#reserve(4);
    this.#length = this.#bytes.writeInt32BE(value, this.#length);
    return this;
  }

  /** A whole number from 0 up to 2^53 − 1. */
  uint(value: number): this {
    assert(Number.isSafeInteger(value) && value >= 0, 'a row holds whole numbers from 0');
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length] = (rest % 0x80) | 0x80;
      this.#length += 1;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length] = rest;
    this.#length += 1;
    return this;
  }

  text(value: string): this {
    const bytesMax = value.length * 3;
    this.#reserve(bytesMax + 4);
    const bytes = bytesMax < 0x80 ? 0 : Buffer.byteLength(value);
    if (bytes > 0) {
      this.uint(bytes);
      this.#length += this.#bytes.write(value, this.#length, 'utf8');
      return this;
    }
    const written = this.#bytes.write(value, this.#length + 1, 'utf8'); // its length takes one byte
    this.#bytes[this.#length] = written;
    this.#length += 1 + written;
    return this;
  }

  /** The sealed row. It is lent: the next row overwrites it. */
  seal(key: Uint8Array): Uint8Array {
    this.#reserve(SEAL_BYTES);
    const sum = crc32(this.#bytes.subarray(0, this.#length), crc32(key));
    this.#length = this.#bytes.writeUInt32BE(sum, this.#length);
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    const end = this.#length + bytes;
    if (end <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(end, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
