// A storage that passes everything on to another one. Subclasses override methods to watch or disturb it.
import type {
  Durability,
  RangeOptions,
  Storage,
  StorageBatch,
  StorageHealth,
  StorageRange,
  StorageSnapshot,
} from '@syncline/kernel';

export class OuterStorage implements Storage {
  readonly #inner: Storage;

  constructor(inner: Storage) {
    this.#inner = inner;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#inner.get(key);
  }

  range(options?: RangeOptions): StorageRange {
    return this.#inner.range(options);
  }

  write(batch: StorageBatch, options: { readonly durability: Durability }): Promise<void> {
    return this.#inner.write(batch, options);
  }

  secure(): Promise<void> {
    return this.#inner.secure();
  }

  snapshot(): StorageSnapshot {
    return this.#inner.snapshot();
  }

  health(): StorageHealth {
    return this.#inner.health();
  }

  whenReadable(): Promise<void> {
    return this.#inner.whenReadable();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
