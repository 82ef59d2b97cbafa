// One opened LevelDB: reads with their checksums verified, and batches with checksums added.
//
// A large group of writes is passed to LevelDB in slices, a turn of the event loop apart: at a microsecond per
// operation, a group of 100,000 would block the loop for a tenth of a second. It is not written before it is
// complete, so reads and kills in between see nothing of it.
//
// How a store is secured. LevelDB only syncs its current log: it closes a full log without a sync, and writes its
// content to a synced table in the background. A compaction, of any keys, begins by writing everything in memory to
// tables and waits for them. It does not report whether it succeeded, so there is a synced write before and after it.
// If no file can be created for a new log, the compaction stops after the table of the former log: then the current
// log still counts, and the first write has synced it. A background failure is reported by the next write.
//
// A store that found its disk full is closed and reopened, so it uses several handles one after another. Readers of a
// closed one (a snapshot, an unfinished range) get an error that says why.
import type { Iterator, Snapshot } from 'classic-level';
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import { levelReadError } from './level-error.js';
import { LevelFeed } from './level-feed.js';
import { type LevelDatabase, openLevel } from './level-open.js';
import { copyBytes, ScratchBytes } from './scratch-bytes.js';
import { unsealValue } from './sealed-value.js';
import type { StorageEntry } from './storage.js';
import { isEmptyRange, type RangePlan, throwIfAborted } from './storage-range.js';
import type { WriteGroup } from './write-queue.js';

export interface LevelHandleDeps {
  /** Lets other work run between two slices of a large group. */
  readonly clock: Pick<Clock, 'defer'>;
}

/** Shared by all: a read is complete before the next one begins. */
const keys = new ScratchBytes();

/** Writing it changes nothing: if the store has a value for this key, the same value is written back. */
const PROBE_KEY = new Uint8Array(16).fill(0xff);
/** Sorts after the key above and so is in no table: compacting it is no work. */
const BEHIND_ALL_KEYS = new Uint8Array(17).fill(0xff);

type LevelIterator = Iterator<LevelDatabase, Uint8Array, Uint8Array>;

export class LevelHandle {
  readonly directory: string;
  readonly #clock: Pick<Clock, 'defer'>;
  readonly #database: LevelDatabase;
  #closedError: (() => SynclineError) | undefined;

  static async open(deps: LevelHandleDeps, directory: string): Promise<LevelHandle> {
    return new LevelHandle(deps, { directory, database: await openLevel(directory) });
  }

  /** `database` is open, and belongs to the handle from now on. */
  constructor(
    deps: LevelHandleDeps,
    opened: { readonly directory: string; readonly database: LevelDatabase },
  ) {
    this.#clock = deps.clock;
    this.directory = opened.directory;
    this.#database = opened.database;
  }

  get(key: Uint8Array, snapshot?: Snapshot): Uint8Array | undefined {
    this.#checkOpen();
    const sealed = this.#read(key, snapshot);
    return sealed && unsealValue(key, sealed, this.directory);
  }

  snapshot(): Snapshot {
    this.#checkOpen();
    return this.#database.snapshot();
  }

  /** LevelDB fixes the content when the iterator is created, which is when the first batch is requested. */
  async *batches(plan: RangePlan, snapshot?: Snapshot): AsyncGenerator<readonly StorageEntry[]> {
    this.#checkOpen();
    throwIfAborted(plan.signal);
    if (isEmptyRange(plan)) return;
    const iterator = this.#iterator(plan, snapshot);
    try {
      for (;;) {
        throwIfAborted(plan.signal);
        const sealed = await this.#nextBatch(iterator);
        if (sealed.length === 0) return;
        yield sealed.map(([key, bytes]) => ({
          key,
          value: unsealValue(key, bytes, this.directory),
        }));
      }
    } finally {
      await iterator.close();
    }
  }

  /** Resolves with a function that writes the group. Nothing is written before it is called. */
  async prepare(group: WriteGroup): Promise<() => Promise<void>> {
    this.#checkOpen();
    if (group.durability === 'secured') {
      const sealed = this.#read(PROBE_KEY, undefined);
      return () => this.#secure(sealed);
    }
    const feed = new LevelFeed(this.#database, group);
    try {
      while (!feed.advance()) {
        await new Promise<void>((resolve) => this.#clock.defer(resolve));
        this.#checkOpen();
      }
    } catch (thrown) {
      await feed.abandon();
      throw thrown;
    }
    return () => feed.write();
  }

  /** Waits for reads in flight. Later ones throw the result of `error`. */
  async close(error: () => SynclineError = () => closedStore(this.directory)): Promise<void> {
    this.#closedError ??= error;
    await this.#database.close();
  }

  /** `probe` is the store's value for `PROBE_KEY`. */
  async #secure(probe: Uint8Array | undefined): Promise<void> {
    await this.#syncLog(probe);
    await this.#database.compactRange(BEHIND_ALL_KEYS, BEHIND_ALL_KEYS);
    await this.#syncLog(probe);
  }

  /** The library skips a batch without operations. */
  async #syncLog(probe: Uint8Array | undefined): Promise<void> {
    if (probe) await this.#database.put(PROBE_KEY, probe, { sync: true });
    else await this.#database.del(PROBE_KEY, { sync: true });
  }

  #read(wanted: Uint8Array, snapshot: Snapshot | undefined): Uint8Array | undefined {
    const key = keys.lend(wanted.length);
    copyBytes(key, wanted, 0, wanted.length);
    try {
      return snapshot
        ? this.#database.getSync(key, { keyEncoding: 'view', valueEncoding: 'view', snapshot })
        : this.#database.getSync(key);
    } catch (thrown) {
      throw levelReadError(thrown, this.directory);
    }
  }

  #iterator(plan: RangePlan, snapshot: Snapshot | undefined): LevelIterator {
    const { from, to, reverse, limit } = plan;
    return this.#database.iterator({
      ...(from.length > 0 && { gte: from }),
      ...(to && { lt: to }),
      ...(limit < 2 ** 31 && { limit }),
      ...(snapshot && { snapshot }),
      reverse,
      highWaterMarkBytes: kernelLimits.rangeBatchBytesMax.value,
    });
  }

  async #nextBatch(iterator: LevelIterator) {
    try {
      this.#checkOpen();
      return await iterator.nextv(kernelLimits.rangeBatchEntriesMax.value);
    } catch (thrown) {
      this.#checkOpen();
      throw levelReadError(thrown, this.directory);
    }
  }

  #checkOpen(): void {
    if (this.#closedError) throw this.#closedError();
  }
}

export function closedStore(directory: string): SynclineError {
  return new SynclineError('closed', `the store in ${directory} was closed`, {
    details: { directory },
  });
}
