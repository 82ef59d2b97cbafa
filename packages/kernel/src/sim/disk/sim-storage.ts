// The Storage port over a simulated disk, as one process sees it: reads here, writes in CommitQueue.
//
// While the store is being reopened `get` throws, as a real one's does, so that shells learn to wait
// for `whenReadable`.
import type {
  Durability,
  RangeOptions,
  Storage,
  StorageHealth,
  StorageRange,
  StorageSnapshot,
} from '../../storage/storage.js';
import type { StorageBatch, StorageOperation } from '../../storage/storage-batch.js';
import { CommitQueue } from './commit-queue.js';
import type { DiskAccess } from './disk-access.js';
import { closedStore, reopeningStore } from './disk-errors.js';
import { createSimRange } from './sim-range.js';
import type { StoreContent } from './store-content.js';
import type { StoreImage } from './store-image.js';

export interface SimStorageDeps {
  readonly image: StoreImage;
  readonly disk: DiskAccess;
}

export class SimStorage implements Storage {
  readonly #deps: SimStorageDeps;
  readonly #commits: CommitQueue;
  readonly #snapshots = new Set<SimSnapshot>();

  constructor(deps: SimStorageDeps) {
    this.#deps = deps;
    this.#commits = new CommitQueue(deps);
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#content().get(key)?.slice();
  }

  range(options: RangeOptions = {}): StorageRange {
    const { disk, image } = this.#deps;
    return createSimRange({ disk, storeName: image.name, content: () => this.#content() }, options);
  }

  snapshot(): StorageSnapshot {
    const snapshot: SimSnapshot = new SimSnapshot(this.#deps, this.#content(), () => {
      this.#snapshots.delete(snapshot);
    });
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  write(batch: StorageBatch, options: { readonly durability: Durability }): Promise<void> {
    const { life } = this.#deps.disk;
    if (life.isDead) return life.never();
    const operations = batch.operations.map(copied);
    return this.#commits.add({ operations, durability: options.durability });
  }

  health(): StorageHealth {
    return this.#commits.health;
  }

  async whenReadable(): Promise<void> {
    if (this.health().kind === 'reopening') await this.#commits.idle();
  }

  async close(): Promise<void> {
    const { disk, image } = this.#deps;
    if (disk.life.isDead) return disk.life.never();
    await this.#commits.idle();
    if (this.health().kind === 'closed') return;
    this.#commits.close();
    for (const snapshot of this.#snapshots) snapshot.close();
    if (image.holder === disk.life) image.holder = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #content(): StoreContent {
    const { kind } = this.health();
    const { name, content } = this.#deps.image;
    if (kind === 'closed') throw closedStore(name);
    if (kind === 'reopening') throw reopeningStore(name);
    return content;
  }
}

class SimSnapshot implements StorageSnapshot {
  readonly #deps: SimStorageDeps;
  readonly #onClose: () => void;
  #content: StoreContent | undefined;

  constructor(deps: SimStorageDeps, content: StoreContent, onClose: () => void) {
    this.#deps = deps;
    this.#content = content;
    this.#onClose = onClose;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#open().get(key)?.slice();
  }

  range(options: RangeOptions = {}): StorageRange {
    const { disk, image } = this.#deps;
    return createSimRange({ disk, storeName: image.name, content: () => this.#open() }, options);
  }

  close(): void {
    this.#content = undefined;
    this.#onClose();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #open(): StoreContent {
    if (this.#content === undefined) throw closedStore(`${this.#deps.image.name} (snapshot)`);
    return this.#content;
  }
}

function copied(operation: StorageOperation): StorageOperation {
  const key = operation.key.slice();
  return operation.kind === 'put'
    ? { kind: 'put', key, value: operation.value.slice() }
    : { kind: 'delete', key };
}
