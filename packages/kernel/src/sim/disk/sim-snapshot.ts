// A snapshot of a simulated store: the content of one moment, until it or the store is closed.
import { SynclineError } from '../../error.js';
import type { RangeOptions, StorageRange, StorageSnapshot } from '../../storage/storage.js';
import { planRange, rangeOfBatches } from '../../storage/storage-range.js';
import type { DiskAccess } from './disk-access.js';
import { readSimBatches } from './sim-range.js';
import type { StoreContent } from './store-content.js';

export interface SimSnapshotDeps {
  readonly disk: DiskAccess;
  /** Throws when the store cannot be read any more. */
  readonly view: () => StoreContent;
}

export class SimSnapshot implements StorageSnapshot {
  readonly #deps: SimSnapshotDeps;
  #isClosed = false;

  constructor(deps: SimSnapshotDeps) {
    this.#deps = deps;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#content().get(key)?.slice();
  }

  range(options?: RangeOptions): StorageRange {
    const plan = planRange(options);
    const deps = { disk: this.#deps.disk, view: () => this.#content() };
    return rangeOfBatches(() => readSimBatches(deps, plan));
  }

  close(): void {
    this.#isClosed = true;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #content(): StoreContent {
    if (this.#isClosed) throw new SynclineError('closed', 'the snapshot was closed');
    return this.#deps.view();
  }
}
