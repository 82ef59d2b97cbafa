// Byte strings that are gathered one after the other into one growing buffer: the members of a result, or
// those of a change that is being made up. Its `list` can be handed to the keyspace and to a reply.
import { ByteList } from '../byte-list.js';

const BYTES_FIRST = 1024;

export class ByteCollector {
  readonly list = new ByteList(new Uint8Array(BYTES_FIRST));
  #bytes = 0;

  /** All that was gathered. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Copies the bytes and gives their index in the list. */
  push(buffer: Uint8Array, start: number, end: number): number {
    const { list } = this;
    const next = this.#bytes + end - start;
    if (next > list.buffer.length) this.#grow(next);
    list.buffer.set(
      start === 0 && end === buffer.length ? buffer : buffer.subarray(start, end),
      this.#bytes,
    );
    list.push(this.#bytes, next);
    this.#bytes = next;
    return list.length - 1;
  }

  pushBytes(bytes: Uint8Array): number {
    return this.push(bytes, 0, bytes.length);
  }

  /** Takes the newest one back. */
  drop(): void {
    const { list } = this;
    list.length -= 1;
    this.#bytes = list.start(list.length);
  }

  clear(): void {
    this.list.length = 0;
    this.#bytes = 0;
  }

  #grow(bytesMin: number): void {
    const { list } = this;
    const larger = new Uint8Array(Math.max(bytesMin, list.buffer.length * 2));
    larger.set(list.buffer.subarray(0, this.#bytes));
    list.buffer = larger;
    list.view = new DataView(larger.buffer);
  }
}
