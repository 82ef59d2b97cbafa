// A batch: changes that become visible and durable together, or not at all.

export type StorageOperation =
  | { readonly kind: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly kind: 'delete'; readonly key: Uint8Array };

/**
 * The batch and all bytes handed in belong to the store from the call of `write` until that has settled: a
 * large one is handed on in slices. Then they may be used again.
 */
export class StorageBatch {
  readonly operations: StorageOperation[] = [];
  /** Bytes of all keys and values, for limits on the size of a group commit. */
  bytes = 0;

  put(key: Uint8Array, value: Uint8Array): this {
    this.operations.push({ kind: 'put', key, value });
    this.bytes += key.length + value.length;
    return this;
  }

  delete(key: Uint8Array): this {
    this.operations.push({ kind: 'delete', key });
    this.bytes += key.length;
    return this;
  }
}
