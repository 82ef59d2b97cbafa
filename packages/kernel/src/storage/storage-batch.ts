// A batch: changes that become visible and durable together, or not at all.
//
// It holds its own bytes, all keys and values in one buffer in the order of the operations. An object and two arrays
// per operation would be most of the cost of a large batch, and all of its garbage.

export type StorageOperation =
  | { readonly kind: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly kind: 'delete'; readonly key: Uint8Array };

/** Used instead of the size of a value. */
const DELETED = -1;
const NO_BYTES = new Uint8Array(0);
const BYTES_FIRST = 256;

/**
 * It belongs to the store from the call of `write` until that has settled, because a large one is written in
 * slices. Then it may be cleared and reused.
 */
export class StorageBatch {
  #content = NO_BYTES;
  #bytes = 0;
  /** For each operation, the size of its key, then that of its value or DELETED. */
  #sizes: number[] = [];

  /** Operations in it. */
  get length(): number {
    return this.#sizes.length / 2;
  }

  /** Bytes of all keys and values, for limits on the size of a group commit. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The bytes of the operations one after another, each a key and then its value. Valid until one is added. */
  get content(): Uint8Array {
    return this.#content;
  }

  /** The operations as values, for stores where speed does not matter. */
  get operations(): readonly StorageOperation[] {
    const operations: StorageOperation[] = [];
    let at = 0;
    for (let index = 0; index < this.length; index += 1) {
      const valueStart = at + this.keyBytes(index);
      const key = this.#content.slice(at, valueStart);
      at = valueStart;
      if (this.isDelete(index)) {
        operations.push({ kind: 'delete', key });
        continue;
      }
      at += this.valueBytes(index);
      operations.push({ kind: 'put', key, value: this.#content.slice(valueStart, at) });
    }
    return operations;
  }

  put(key: Uint8Array, value: Uint8Array): this {
    const at = this.reservePut(key.length, value.length);
    this.#content.set(key, at);
    this.#content.set(value, at + key.length);
    return this;
  }

  delete(key: Uint8Array): this {
    const at = this.reserveDelete(key.length);
    this.#content.set(key, at);
    return this;
  }

  /** A put whose key is to be written into `content` from the returned position on, followed by its value. */
  reservePut(keyBytes: number, valueBytes: number): number {
    this.#sizes.push(keyBytes, valueBytes);
    return this.#reserve(keyBytes + valueBytes);
  }

  /** A delete whose key is to be written into `content` from the returned position on. */
  reserveDelete(keyBytes: number): number {
    this.#sizes.push(keyBytes, DELETED);
    return this.#reserve(keyBytes);
  }

  keyBytes(index: number): number {
    return this.#sizes[index * 2] ?? 0;
  }

  isDelete(index: number): boolean {
    return this.#sizes[index * 2 + 1] === DELETED;
  }

  /** 0 for a delete. */
  valueBytes(index: number): number {
    return Math.max(0, this.#sizes[index * 2 + 1] ?? 0);
  }

  /** Keeps its memory for the next operations. */
  clear(): void {
    this.#bytes = 0;
    this.#sizes = [];
  }

  #reserve(bytes: number): number {
    const at = this.#bytes;
    const end = at + bytes;
    if (end > this.#content.length) this.#grow(end);
    this.#bytes = end;
    return at;
  }

  #grow(bytesMin: number): void {
    const grown = new Uint8Array(Math.max(bytesMin, this.#content.length * 2, BYTES_FIRST));
    grown.set(this.#content);
    this.#content = grown;
  }
}
