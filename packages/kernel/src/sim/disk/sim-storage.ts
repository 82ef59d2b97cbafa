// The Storage port over a simulated disk, as one process sees it. It is the LevelDB storage with another disk: it
// shares the order of writes (WriteQueue) and the effect of a failed write (LevelReopener), so callers encounter
// the same states here as in production.
//
// While the disk is full reads continue. The first write that finds space reopens the store: meanwhile `get` throws,
// and afterwards older snapshots and ranges end with `unavailable`. A failed sync is final for the process: the
// outcome of the write is unknown.
import { kernelLimits } from '../../limits.js';
import { silentLogger } from '../../logger.js';
import { closedStore } from '../../storage/level-handle.js';
import { LevelReopener } from '../../storage/level-reopener.js';
import { fullStore, type Room } from '../../storage/level-room.js';
import type {
  Durability,
  RangeOptions,
  Storage,
  StorageEntry,
  StorageHealth,
  StorageRange,
  StorageSnapshot,
} from '../../storage/storage.js';
import type { StorageBatch } from '../../storage/storage-batch.js';
import { planRange, type RangePlan, rangeOfBatches } from '../../storage/storage-range.js';
import { type WriteGroup, WriteQueue } from '../../storage/write-queue.js';
import type { DiskAccess } from './disk-access.js';
import { reopenSimHandle, SimHandle } from './sim-handle.js';
import { readSimBatches } from './sim-range.js';
import { SimSnapshot } from './sim-snapshot.js';
import type { StoreImage } from './store-image.js';

export interface SimStorageDeps {
  readonly image: StoreImage;
  readonly disk: DiskAccess;
}

export class SimStorage implements Storage {
  readonly #image: StoreImage;
  readonly #disk: DiskAccess;
  readonly #reopener: LevelReopener<SimHandle>;
  readonly #queue: WriteQueue;
  #closing: Promise<void> | undefined;

  constructor(deps: SimStorageDeps) {
    this.#image = deps.image;
    this.#disk = deps.disk;
    this.#reopener = new LevelReopener(
      {
        logger: silentLogger,
        openHandle: () => reopenSimHandle(deps),
        measureRoom: async (writeBytes) => ({ bytesFree: 0, bytesNeeded: writeBytes }),
        provideRoom: (room) => this.#provideRoom(room),
      },
      new SimHandle(deps),
    );
    this.#queue = new WriteQueue(
      { commit: (group) => this.#commit(group) },
      {
        groupBytesMax: kernelLimits.storageGroupBytesMax.value,
        queueBytesMax: kernelLimits.storageQueueBytesMax.value,
      },
    );
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#readable().content.get(key)?.slice();
  }

  range(options?: RangeOptions): StorageRange {
    const plan = planRange(options);
    return rangeOfBatches(() => this.#batches(plan));
  }

  snapshot(): StorageSnapshot {
    return new SimSnapshot({ disk: this.#disk, view: this.#readable().view() });
  }

  write(batch: StorageBatch, options: { readonly durability: Durability }): Promise<void> {
    if (this.#disk.life.isDead) return this.#disk.life.never();
    if (this.#closing !== undefined) return Promise.reject(closedStore(this.#image.name));
    return this.#queue.push(batch, options.durability);
  }

  secure(): Promise<void> {
    if (this.#disk.life.isDead) return this.#disk.life.never();
    if (this.#closing !== undefined) return Promise.reject(closedStore(this.#image.name));
    return this.#queue.pushSecure();
  }

  health(): StorageHealth {
    return this.#closing === undefined ? this.#reopener.health() : { kind: 'closed' };
  }

  async whenReadable(): Promise<void> {
    if (this.#closing !== undefined) throw closedStore(this.#image.name);
    await this.#reopener.whenReadable();
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
    await this.#reopener.close();
    if (this.#image.holder === this.#disk.life) this.#image.holder = undefined;
  }

  async #commit(group: WriteGroup): Promise<void> {
    const handle = this.#reopener.ready ?? (await this.#reopener.writable(group.bytes));
    try {
      await handle.write(group);
    } catch (thrown) {
      throw await this.#reopener.writeFailed(thrown, { writeBytes: group.bytes, isLogged: false });
    }
  }

  /** The simulated disk counts no bytes: it is full or it is not. */
  #provideRoom(room: Room): Promise<void> {
    return this.#disk.perform('find-room', this.#image.name, (verdict) => {
      if (verdict !== 'ok') throw fullStore(this.#image.name, room);
    });
  }

  /** As with LevelDB: no `await` before the content is fixed unless it must wait. */
  async *#batches(plan: RangePlan): AsyncGenerator<readonly StorageEntry[]> {
    if (this.health().kind !== 'ok') await this.whenReadable();
    yield* readSimBatches({ disk: this.#disk, view: this.#readable().view() }, plan);
  }

  #readable(): SimHandle {
    if (this.#closing !== undefined) throw closedStore(this.#image.name);
    return this.#reopener.readable();
  }
}
