// The storage of the process, unchanged, with a book that records every record of the log and what became of it.
import type { Clock, Durability, Storage, StorageBatch } from '@syncline/kernel';
import { SynclineError } from '@syncline/kernel';
import { OuterStorage } from '../simulation/outer-storage.js';
import type { RecordBook } from './record-book.js';

export interface WatchedStorageDeps {
  readonly inner: Storage;
  readonly clock: Clock;
  readonly records: RecordBook;
  readonly onFailed: (isFull: boolean) => void;
}

export class WatchedStorage extends OuterStorage {
  readonly #deps: WatchedStorageDeps;

  constructor(deps: WatchedStorageDeps) {
    super(deps.inner);
    this.#deps = deps;
  }

  override async write(
    batch: StorageBatch,
    options: { readonly durability: Durability },
  ): Promise<void> {
    const { clock, records, onFailed } = this.#deps;
    const written = records.writing(batch, clock.monotonicMs());
    try {
      await super.write(batch, options);
    } catch (thrown) {
      const isFull = !(thrown instanceof SynclineError) || thrown.code !== 'storage-failed';
      onFailed(isFull);
      records.failed(written);
      throw thrown;
    }
    records.stored(written, options.durability);
  }
}
