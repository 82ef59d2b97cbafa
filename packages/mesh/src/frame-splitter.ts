// Cuts the bytes of a connection into frames, however they arrive.
//
// No memory is allocated based on a declared length. A frame that lies within one chunk is not copied;
// otherwise it is collected in a buffer that doubles as needed. Bytes that were returned are never
// overwritten.
//
// M2  The frames do not depend on how the bytes were cut. At most one frame and one chunk are held.
import { LENGTH_BYTES, malformed } from './frame-codec.js';

const none = new Uint8Array(0);

export class FrameSplitter {
  /** The longest frame accepted from now on. */
  bytesMax: number;
  #buffer: Uint8Array = none;
  /** The range of the held bytes. */
  #start = 0;
  #end = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get heldBytes(): number {
    return this.#end - this.#start;
  }

  /** Takes a chunk; `next` then gives the frames that are complete. */
  push(chunk: Uint8Array): void {
    if (this.heldBytes === 0) {
      this.#buffer = chunk;
      this.#start = 0;
      this.#end = chunk.length;
      return;
    }
    if (this.#buffer.length - this.#end < chunk.length) this.#grow(chunk.length);
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** The next frame without its length. Throws on a length of 0, or above `bytesMax`. */
  next(): Uint8Array | undefined {
    if (this.heldBytes < LENGTH_BYTES) return undefined;
    const { buffer, byteOffset } = this.#buffer;
    const length = new DataView(buffer, byteOffset + this.#start).getUint32(0);
    if (length === 0) throw malformed('its length is 0');
    if (length > this.bytesMax)
      throw malformed(`it has ${length} bytes; at most ${this.bytesMax} are allowed`);
    const from = this.#start + LENGTH_BYTES;
    if (this.#end - from < length) return undefined;
    this.#start = from + length;
    return this.#buffer.subarray(from, this.#start);
  }

  #grow(bytes: number): void {
    const held = this.#buffer.subarray(this.#start, this.#end);
    const grown = new Uint8Array(Math.max(held.length * 2, held.length + bytes));
    grown.set(held);
    this.#buffer = grown;
    this.#start = 0;
    this.#end = held.length;
  }
}
