// The Storage port over a simulated disk, as one process sees it. It behaves like the one on LevelDB and
// shares its order of writes (WriteQueue):
//
// A full disk refuses a write, and the store is opened anew. During that `get` throws, and afterwards
// older snapshots and ranges end with `unavailable`, so that shells learn to cope with it. A failed sync
// is final for the process: nobody can say what became of the write.
import { SynclineError } from '../../error.js';
import { fileSystemError } from '../../files/file-system-error.js';
import { kernelLimits } from '../../limits.js';
import type {
  Durability,
  RangeOptions,
  Storage,
  StorageHealth,
  StorageRange,
  StorageSnapshot,
} from '../../storage/storage.js';
import type { StorageBatch } from '../../storage/storage-batch.js';
import { copyBatch, type WriteGroup, WriteQueue } from '../../storage/write-queue.js';
import type { DiskAccess, Verdict } from './disk-access.js';
import { createSimRange } from './sim-range.js';
import { SimSnapshot } from './sim-snapshot.js';
import type { StoreContent } from './store-content.js';
import { hashOperations, type StoreImage } from './store-image.js';

export interface SimStorageDeps {
  readonly image: StoreImage;
  readonly disk: DiskAccess;
}

export class SimStorage implements Storage {
  readonly #image: StoreImage;
  readonly #disk: DiskAccess;
  readonly #queue: WriteQueue;
  #health: StorageHealth = { kind: 'ok' };
  #openingsCount = 1;
  #reopening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(deps: SimStorageDeps) {
    this.#image = deps.image;
    this.#disk = deps.disk;
    this.#queue = new WriteQueue(
      { commit: (group) => this.#commit(group) },
      {
        groupBytesMax: kernelLimits.storageGroupBytesMax.value,
        queueBytesMax: kernelLimits.storageQueueBytesMax.value,
      },
    );
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#content().get(key)?.slice();
  }

  range(options?: RangeOptions): StorageRange {
    return createSimRange({ disk: this.#disk, view: () => this.#view() }, options);
  }

  snapshot(): StorageSnapshot {
    return new SimSnapshot({ disk: this.#disk, view: this.#view() });
  }

  write(batch: StorageBatch, options: { readonly durability: Durability }): Promise<void> {
    if (this.#disk.life.isDead) return this.#disk.life.never();
    if (this.#closing !== undefined) return Promise.reject(this.#closedError());
    return this.#queue.push(copyBatch(batch), options.durability);
  }

  health(): StorageHealth {
    return this.#closing === undefined ? this.#health : { kind: 'closed' };
  }

  async whenReadable(): Promise<void> {
    if (this.#closing !== undefined) throw this.#closedError();
    await this.#reopening;
  }

  close(): Promise<void> {
    if (this.#disk.life.isDead) return this.#disk.life.never();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#queue.drained();
    await this.#reopening;
    if (this.#image.holder === this.#disk.life) this.#image.holder = undefined;
  }

  async #commit(group: WriteGroup): Promise<void> {
    await this.#reopening;
    if (this.#health.kind === 'failed') throw this.#diskError('EIO', 'not-applied');
    const { durability } = group;
    this.#image.begin(group.batches.map(({ operations }) => ({ operations, durability })));
    const kind = durability === 'synced' ? 'synced-write' : 'buffered-write';
    const verdict = await this.#disk.perform(kind, this.#image.name, (at) => this.#land(group, at));
    if (verdict === 'failed') throw this.#diskError('EIO', 'unknown');
    if (verdict === 'full') throw this.#diskError('ENOSPC', 'not-applied');
  }

  /** The group reaches the disk, or does not. */
  #land(group: WriteGroup, verdict: Verdict): Verdict {
    for (const { operations } of group.batches) {
      this.#disk.note(verdict, this.#image.name, hashOperations(operations));
    }
    if (verdict === 'ok') {
      this.#image.commit();
      this.#health = { kind: 'ok' };
    } else if (verdict === 'full') {
      this.#image.discard();
      if (this.#health.kind === 'ok') this.#reopening = this.#reopen();
    } else {
      this.#health = { kind: 'failed', reason: 'a sync failed (simulated)' };
    }
    return verdict;
  }

  /** Only the first refusal reopens: later writes are refused before they could do harm. */
  async #reopen(): Promise<void> {
    this.#health = { kind: 'reopening' };
    await this.#disk.perform('reopen', this.#image.name, () => {});
    this.#openingsCount += 1;
    this.#health = { kind: 'full', reason: 'no space left on the device (simulated)' };
    this.#reopening = undefined;
  }

  #content(): StoreContent {
    if (this.#closing !== undefined) throw this.#closedError();
    if (this.#health.kind === 'reopening') throw this.#reopeningError();
    return this.#image.content;
  }

  /** The content of this moment, readable for as long as the store is not opened anew. */
  #view(): () => StoreContent {
    const content = this.#content();
    const openingsCount = this.#openingsCount;
    return () => {
      this.#content();
      if (this.#openingsCount !== openingsCount) throw this.#reopeningError();
      return content;
    };
  }

  #diskError(errno: 'EIO' | 'ENOSPC', outcome: 'not-applied' | 'unknown'): SynclineError {
    const cause = new Error(`${errno} (simulated)`);
    const { name: path } = this.#image;
    return fileSystemError({ action: 'write to the store', path, errno, cause, outcome });
  }

  #closedError(): SynclineError {
    return new SynclineError('closed', `the store ${this.#image.name} was closed`);
  }

  #reopeningError(): SynclineError {
    return new SynclineError(
      'unavailable',
      `the store ${this.#image.name} was opened anew after a full disk. Wait for whenReadable()`,
    );
  }
}
