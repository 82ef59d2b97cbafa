// Bytes in the order of arrival, taken out in pieces of any length.

export class ByteBuffer {
  #chunks: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The chunk is not copied before it is taken. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** A copy of the first `count` bytes, which are then removed. */
  take(count: number): Uint8Array {
    const taken = new Uint8Array(Math.min(count, this.#length));
    let filled = 0;
    while (filled < taken.length) {
      const chunk = this.#chunks.shift();
      if (chunk === undefined) break;
      const part = chunk.subarray(0, taken.length - filled);
      taken.set(part, filled);
      filled += part.length;
      if (part.length < chunk.length) this.#chunks.unshift(chunk.subarray(part.length));
    }
    this.#length -= filled;
    return taken;
  }

  clear(): void {
    this.#chunks = [];
    this.#length = 0;
  }
}
