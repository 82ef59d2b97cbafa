// Reads the fields of a row in the order in which RowWriter wrote them, once its seal was found whole.
//
// What the checksum lets pass was written by us; a field that is still not there is damage too, so no reader
// ever goes beyond the row. The error names the key, and nothing of a damaged row is handed out.
import { crc32, SynclineError } from '@syncline/kernel';
import { SEAL_BYTES } from './row-writer.js';

export class RowReader {
  readonly #key: Uint8Array;
  readonly #bytes: Buffer;
  readonly #end: number;
  #at = 0;

  /** Throws `corrupt` if the row does not match its seal. */
  constructor(key: Uint8Array, sealed: Uint8Array) {
    this.#key = key;
    this.#bytes = Buffer.isBuffer(sealed)
      ? sealed
      : Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length);
    this.#end = sealed.length - SEAL_BYTES;
    if (this.#end < 0) throw corruptRow(key);
    const sum = crc32(this.#bytes.subarray(0, this.#end), crc32(key));
    if (this.#bytes.readUInt32BE(this.#end) !== sum) throw corruptRow(key);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end;
  }

  byte(): number {
    return this.#bytes[this.#skip(1)] ?? 0;
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#skip(4));
  }

  uint(): number {
    let value = 0;
    for (let scale = 1; scale <= Number.MAX_SAFE_INTEGER; scale *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw corruptRow(this.#key);
  }

  text(): string {
    const bytes = this.uint();
    const start = this.#skip(bytes);
    return this.#bytes.toString('utf8', start, start + bytes);
  }

  #skip(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.#end) throw corruptRow(this.#key);
    this.#at = at + bytes;
    return at;
  }
}

export function corruptRow(key: Uint8Array): SynclineError {
  const keyHex = Buffer.from(key).toString('hex');
  return new SynclineError(
    'corrupt',
    `the row 0x${keyHex} of the job store does not match its checksum. ` +
      'The disk probably damaged it. Restore the data directory from a copy.',
    { details: { keyHex } },
  );
}
