// A snapshot of the storage that outlives a reopened store, as long as nothing was folded since.
//
// A store that found its disk full is opened anew once there is room, and loses its snapshots. Sets only
// change in the storage by folds, and each fold has a number; if that is still the same, a new snapshot
// shows the same sets. Otherwise the moment is gone, and who reads it must begin again.
import {
  type RangeOptions,
  type Storage,
  type StorageEntry,
  type StorageSnapshot,
  SynclineError,
} from '@syncline/kernel';
import { type FoldRecord, readFold } from '../state/fold-record.js';

export class LastingSnapshot {
  readonly #storage: Storage;
  #snapshot: StorageSnapshot;
  readonly fold: FoldRecord;

  constructor(storage: Storage) {
    this.#storage = storage;
    this.#snapshot = storage.snapshot();
    this.fold = readFold(this.#snapshot);
  }

  get(key: Uint8Array): Uint8Array | undefined {
    try {
      return this.#snapshot.get(key);
    } catch (thrown) {
      this.#renew(thrown);
      return this.#snapshot.get(key);
    }
  }

  /** Entries in order, many at a time. Goes on behind the last one if the snapshot was lost. */
  async *batches(range: RangeOptions): AsyncGenerator<readonly StorageEntry[]> {
    let { from } = range;
    for (;;) {
      try {
        const rest = from === undefined ? range : { ...range, from };
        for await (const batch of this.#snapshot.range(rest).batches()) {
          const last = batch.at(-1);
          if (last !== undefined) from = behind(last.key);
          yield batch;
        }
        return;
      } catch (thrown) {
        if (!isLost(thrown)) throw thrown;
        await this.#storage.whenReadable();
        this.#renew(thrown);
      }
    }
  }

  close(): void {
    this.#snapshot.close();
  }

  #renew(thrown: unknown): void {
    if (!isLost(thrown)) throw thrown;
    const snapshot = this.#storage.snapshot();
    if (readFold(snapshot).number !== this.fold.number) {
      snapshot.close();
      throw new SynclineError(
        'unavailable',
        'the storage was opened anew while it was read, and the sets have changed since. Try again.',
        { cause: thrown },
      );
    }
    this.#snapshot = snapshot;
  }
}

function isLost(thrown: unknown): boolean {
  return thrown instanceof SynclineError && thrown.code === 'unavailable';
}

/** The first key after this one. */
function behind(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}
