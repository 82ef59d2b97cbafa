// Storage on LevelDB, made safe for full disks and failing ones. What a failed write does to the store is in
// level-reopener.ts, the order of writes in write-queue.ts, checksums in sealed-value.ts.
//
// When the store is reopened, snapshots and ranges end with `unavailable`: take a new one and start over. A write
// that found the disk full was not applied: a batch is one record of LevelDB's log and counts only if its last byte
// was accepted. If it was, and the sync alone failed, the store has failed: see level-log.ts.
import { resolve } from 'node:path';
import type { Snapshot } from 'classic-level';
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import type { Logger } from '../logger.js';
import { type DirectoryHold, holdDirectory } from './directory-hold.js';
import { closedStore, LevelHandle } from './level-handle.js';
import { isAtEndOfLog, warnOfDamagedLogs } from './level-log.js';
import { LevelReopener } from './level-reopener.js';
import { measureRoom, provideRoom, removeProbe } from './level-room.js';
import type {
  Durability,
  RangeOptions,
  Storage,
  StorageEntry,
  StorageHealth,
  StorageRange,
  StorageSnapshot,
} from './storage.js';
import type { StorageBatch } from './storage-batch.js';
import { planRange, type RangePlan, rangeOfBatches } from './storage-range.js';
import { type WriteGroup, WriteQueue } from './write-queue.js';

export interface LevelStorageDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface LevelStorageOptions {
  /** Created if needed. Must not be used by anything else. */
  readonly directory: string;
}

/** Throws `locked` when the directory is in use and names the holder, `corrupt` when it is damaged. */
export async function openLevelStorage(
  deps: LevelStorageDeps,
  options: LevelStorageOptions,
): Promise<Storage> {
  const directory = resolve(options.directory);
  const openHandle = async () => {
    await removeProbe(directory);
    await warnOfDamagedLogs(deps.logger, directory);
    return LevelHandle.open(deps, directory);
  };
  const hold = await holdDirectory(deps.clock, directory, openHandle);
  const reopener = new LevelReopener(
    {
      logger: deps.logger,
      openHandle,
      measureRoom: (writeBytes) => measureRoom(directory, writeBytes),
      provideRoom: (room) => provideRoom(directory, room),
    },
    hold.database,
  );
  return new LevelStorage(directory, reopener, hold);
}

class LevelStorage implements Storage {
  readonly #directory: string;
  readonly #reopener: LevelReopener<LevelHandle>;
  readonly #hold: DirectoryHold<LevelHandle>;
  readonly #queue: WriteQueue;
  #closing: Promise<void> | undefined;

  constructor(
    directory: string,
    reopener: LevelReopener<LevelHandle>,
    hold: DirectoryHold<LevelHandle>,
  ) {
    this.#directory = directory;
    this.#reopener = reopener;
    this.#hold = hold;
    this.#queue = new WriteQueue(
      { commit: (group) => this.#commit(group) },
      {
        groupBytesMax: kernelLimits.storageGroupBytesMax.value,
        queueBytesMax: kernelLimits.storageQueueBytesMax.value,
      },
    );
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#readable().get(key);
  }

  range(options?: RangeOptions): StorageRange {
    const plan = planRange(options);
    return rangeOfBatches(() => this.#batches(plan));
  }

  snapshot(): StorageSnapshot {
    const handle = this.#readable();
    return new LevelStorageSnapshot(handle, handle.snapshot());
  }

  async write(
    batch: StorageBatch,
    { durability }: { readonly durability: Durability },
  ): Promise<void> {
    if (this.#closing) throw closedStore(this.#directory);
    return this.#queue.push(batch, durability);
  }

  async secure(): Promise<void> {
    if (this.#closing) throw closedStore(this.#directory);
    return this.#queue.pushSecure();
  }

  health(): StorageHealth {
    return this.#closing ? { kind: 'closed' } : this.#reopener.health();
  }

  async whenReadable(): Promise<void> {
    if (this.#closing) throw closedStore(this.#directory);
    await this.#reopener.whenReadable();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#queue.drained();
    await this.#hold.release(() => this.#reopener.close());
  }

  async #commit(group: WriteGroup): Promise<void> {
    const handle = this.#reopener.ready ?? (await this.#reopener.writable(group.bytes));
    const write = await handle.prepare(group);
    try {
      await write();
    } catch (thrown) {
      // A log that cannot be read may hold the batch.
      const isLogged =
        group.durability !== 'buffered' &&
        (await isAtEndOfLog(this.#directory, group).catch(() => true));
      throw await this.#reopener.writeFailed(thrown, { writeBytes: group.bytes, isLogged });
    }
  }

  /** No `await` before the iterator is created unless it must wait: iteration starts with this call. */
  async *#batches(plan: RangePlan): AsyncGenerator<readonly StorageEntry[]> {
    if (this.health().kind !== 'ok') await this.whenReadable();
    yield* this.#readable().batches(plan);
  }

  #readable(): LevelHandle {
    if (this.#closing) throw closedStore(this.#directory);
    return this.#reopener.readable();
  }
}

class LevelStorageSnapshot implements StorageSnapshot {
  readonly #handle: LevelHandle;
  readonly #snapshot: Snapshot;
  #isClosed = false;

  constructor(handle: LevelHandle, snapshot: Snapshot) {
    this.#handle = handle;
    this.#snapshot = snapshot;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#checkOpen();
    return this.#handle.get(key, this.#snapshot);
  }

  range(options?: RangeOptions): StorageRange {
    const plan = planRange(options);
    return rangeOfBatches(() => this.#batches(plan));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    void this.#snapshot.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async *#batches(plan: RangePlan): AsyncGenerator<readonly StorageEntry[]> {
    this.#checkOpen();
    yield* this.#handle.batches(plan, this.#snapshot);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new SynclineError('closed', 'the snapshot was closed');
  }
}
