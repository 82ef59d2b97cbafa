// The replies `:-1` to `:9999`, encoded before anybody asks: nearly every integer reply is one of them.

const STRIDE = 8;
const SMALLEST = -1;
const LARGEST = 9_999;

export class IntegerReplies {
  /** Per value its number of bytes, then the bytes; the longest has 7. */
  readonly #table = new Uint8Array((LARGEST - SMALLEST + 1) * STRIDE);

  constructor() {
    for (let value = SMALLEST; value <= LARGEST; value += 1) {
      const bytes = Buffer.from(`:${value}\r\n`, 'latin1');
      const at = (value - SMALLEST) * STRIDE;
      this.#table[at] = bytes.length;
      this.#table.set(bytes, at + 1);
    }
  }

  has(value: number): boolean {
    return value >= SMALLEST && value <= LARGEST;
  }

  /** Writes the reply, which takes at most 7 bytes, and gives where it ends. */
  write(value: number, target: Uint8Array, position: number): number {
    const table = this.#table;
    const at = (value - SMALLEST) * STRIDE;
    const size = table[at] ?? 0;
    for (let index = 0; index < size; index += 1)
      target[position + index] = table[at + 1 + index] ?? 0;
    return position + size;
  }
}
