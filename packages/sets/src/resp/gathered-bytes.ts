// The bytes of a command that arrives in pieces, behind each other in one buffer.

const BYTES_MIN = 256;
/** A larger buffer is given back when its command is done. */
const BYTES_KEPT_MAX = 16_384;

export class GatheredBytes {
  buffer: Uint8Array = new Uint8Array(0);
  length = 0;

  clear(): void {
    this.length = 0;
    if (this.buffer.length > BYTES_KEPT_MAX) this.buffer = new Uint8Array(0);
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    const length = this.length + end - start;
    if (length > this.buffer.length) this.#grow(length);
    this.buffer.set(bytes.subarray(start, end), this.length);
    this.length = length;
  }

  #grow(length: number): void {
    const grown = new Uint8Array(Math.max(BYTES_MIN, this.buffer.length * 2, length));
    grown.set(this.buffer.subarray(0, this.length));
    this.buffer = grown;
  }
}
