// Byte strings collected into one growing buffer: the members of a result, or those of a change that is being
// prepared. Its `list` can be passed to the keyspace and to a reply.
import { ByteList } from '../byte-list.js';

const BYTES_FIRST = 1024;

export class ByteCollector {
  readonly list = new ByteList(new Uint8Array(BYTES_FIRST));
  #bytes = 0;

  /** Of all items together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Copies the bytes and returns their index in the list. */
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

  /** Copies an item of another list. */
  pushItem(list: ByteList, index: number): number {
    return this.push(list.buffer, list.start(index), list.end(index));
  }

  /** Drops the items from this index on. */
  truncate(length: number): void {
    if (length >= this.list.length) return;
    this.#bytes = this.list.start(length);
    this.list.length = length;
  }

  #grow(bytesMin: number): void {
    const { list } = this;
    const larger = new Uint8Array(Math.max(bytesMin, list.buffer.length * 2));
    larger.set(list.buffer.subarray(0, this.#bytes));
    list.buffer = larger;
    list.view = new DataView(larger.buffer);
  }
}
