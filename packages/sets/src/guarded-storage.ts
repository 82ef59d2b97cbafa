// A storage that tells when a read of it has met damage or a broken disk; the reader gets the error all the same.
//
// Writes tell by themselves. A read that fails is answered to one client only, but what it found concerns
// all: from then on nothing is written, and the node says that it is not well. Here is the one place that
// every read passes: of members, of sets that are brought in, of views.
import {
  type RangeOptions,
  type Storage,
  type StorageRange,
  type StorageReads,
  type StorageSnapshot,
  SynclineError,
} from '@syncline/kernel';

export type DamageListener = (error: SynclineError) => void;

class GuardedReads implements StorageReads {
  readonly #reads: StorageReads;
  readonly #onDamage: DamageListener;

  constructor(reads: StorageReads, onDamage: DamageListener) {
    this.#reads = reads;
    this.#onDamage = onDamage;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    try {
      return this.#reads.get(key);
    } catch (thrown) {
      throw this.#tell(thrown);
    }
  }

  range(options?: RangeOptions): StorageRange {
    const range = this.#reads.range(options);
    const tell = (thrown: unknown) => this.#tell(thrown);
    async function* batches() {
      try {
        yield* range.batches();
      } catch (thrown) {
        throw tell(thrown);
      }
    }
    return {
      batches,
      async *[Symbol.asyncIterator]() {
        for await (const batch of batches()) yield* batch;
      },
    };
  }

  #tell(thrown: unknown): unknown {
    const isDamage =
      thrown instanceof SynclineError &&
      (thrown.code === 'corrupt' || thrown.code === 'storage-failed');
    if (isDamage) this.#onDamage(thrown);
    return thrown;
  }
}

export function guardStorage(storage: Storage, onDamage: DamageListener): Storage {
  const reads = new GuardedReads(storage, onDamage);
  return {
    get: (key) => reads.get(key),
    range: (options) => reads.range(options),
    snapshot: () => guardSnapshot(storage.snapshot(), onDamage),
    write: (batch, options) => storage.write(batch, options),
    secure: () => storage.secure(),
    health: () => storage.health(),
    whenReadable: () => storage.whenReadable(),
    close: () => storage.close(),
    [Symbol.asyncDispose]: () => storage.close(),
  };
}

function guardSnapshot(snapshot: StorageSnapshot, onDamage: DamageListener): StorageSnapshot {
  const reads = new GuardedReads(snapshot, onDamage);
  return {
    get: (key) => reads.get(key),
    range: (options) => reads.range(options),
    close: () => snapshot.close(),
    [Symbol.dispose]: () => snapshot.close(),
  };
}
