// Reads what a store needs at startup: the number of jobs, the held leases, and deletions that a crash interrupted. If
// buffered writes may have been lost, it first repairs what the loss can leave behind:
//
// - A head may count cells and records that are gone, or miss ones that reappeared: everything is recounted.
// - A record may reappear because its removal was lost: compaction starts again at the beginning of the log.
// - Such a record may belong to a job that was fully deleted: the job is deleted again.
// - Cursors may contain revisions that will be reused: the generation of all cursors is raised.
//
// The repair reads the whole log once. This is only needed if there were buffered writes and the store was not closed.
import {
  type Clock,
  type Logger,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import { encode } from '@syncline/kernel/wire';
import { JobCells } from '../engine/job-cells.js';
import type { JobHead, JobRows, StoreStart } from '../engine/store-adapter.js';
import { isCorrupt, loadRows, readBatches, readRows } from './load-rows.js';
import {
  bufferedKey,
  decodeJobRow,
  decodeRow,
  deletedKey,
  headKey,
  headRow,
  jobIdOfKey,
  jobNoOfKey,
  jobRange,
  jobsRange,
  KeyKind,
  kindRange,
  type StoreRow,
  storeKey,
  storeRow,
  taskRow,
} from './rows.js';

export interface EmbeddedStart extends Omit<StoreStart, 'generation'> {
  readonly row: StoreRow;
  readonly hasBufferedMark: boolean;
  readonly deletedJobNos: readonly number[];
}

interface KnownJob {
  readonly jobId: string;
  readonly incarnation: string;
}

export async function readStart(storage: Storage): Promise<EmbeddedStart> {
  await storage.whenReadable();
  const hasBufferedMark = storage.get(bufferedKey) !== undefined;
  const jobs = await readJobs(storage);
  const bytes = storage.get(storeKey);
  const stored = bytes ? decodeRow(storeRow, storeKey, bytes) : { nextJobNo: 1, generation: 0 };
  const row = hasBufferedMark ? { ...stored, generation: stored.generation + 1 } : stored;
  if (hasBufferedMark) await repair(storage, row, jobs.values());
  const deletedJobNos: number[] = [];
  const noteDeleted = (key: Uint8Array) => void deletedJobNos.push(jobNoOfKey(key));
  await readRows(storage, kindRange(KeyKind.deleted), { row: noteDeleted, damaged: noteDeleted });
  return {
    row,
    hasBufferedMark,
    jobsCount: jobs.size,
    logRecords: countStored(storage, jobs.keys()),
    heldLeases: await readHeldLeases(storage, jobs),
    deletedJobNos,
  };
}

/** Keyed by job number. A job with damaged metadata is counted under a negative number; reading it throws `corrupt`. */
async function readJobs(storage: Storage): Promise<ReadonlyMap<number, KnownJob>> {
  const jobs = new Map<number, KnownJob>();
  let damagedCount = 0;
  await readRows(storage, jobsRange('', ''), {
    row: (key, value) => {
      const jobId = jobIdOfKey(key);
      const { jobNo, row } = decodeJobRow(key, value, jobId);
      jobs.set(jobNo, { jobId, incarnation: row.incarnation });
    },
    damaged: (key) => {
      damagedCount += 1;
      jobs.set(-damagedCount, { jobId: jobIdOfKey(key), incarnation: '' });
    },
  });
  return jobs;
}

/** They get a full TTL: downtime of the store does not count against their holders. */
async function readHeldLeases(
  storage: Storage,
  jobs: ReadonlyMap<number, KnownJob>,
): Promise<StoreStart['heldLeases']> {
  const leases: StoreStart['heldLeases'][number][] = [];
  await readRows(storage, kindRange(KeyKind.task), {
    row: (key, value) => {
      const job = jobs.get(jobNoOfKey(key));
      const { taskId, epoch, state, ttlMs } = decodeRow(taskRow, key, value);
      if (job && state === 'held' && ttlMs > 0) leases.push({ ...job, taskId, epoch, ttlMs });
    },
    damaged: () => {}, // reported when the task is read
  });
  return leases;
}

function countStored(storage: Storage, jobNos: Iterable<number>): number {
  let count = 0;
  for (const jobNo of jobNos) {
    const head = readHead(storage, jobNo);
    if (head !== 'damaged') count += head?.logRecords ?? 0;
  }
  return count;
}

/** The head is removed last: without one, the job is gone. */
function readHead(storage: Storage, jobNo: number): JobHead | 'damaged' | undefined {
  if (jobNo < 0) return 'damaged';
  const key = headKey(jobNo);
  try {
    const bytes = storage.get(key);
    return bytes && decodeRow(headRow, key, bytes);
  } catch (thrown) {
    if (isCorrupt(thrown)) return 'damaged';
    throw thrown;
  }
}

async function repair(storage: Storage, row: StoreRow, jobs: Iterable<KnownJob>): Promise<void> {
  const batch = new StorageBatch();
  const records = await countRecords(storage);
  for (const { jobId } of jobs) {
    const rows = await loadRows(storage, jobId).catch(undefinedIfCorrupt);
    if (!rows) continue;
    const { jobNo } = rows.handle;
    const logRecords = records.get(jobNo) ?? 0;
    const head = { ...rows.head, logRecords, compactedTo: 0, counts: countRows(rows) };
    batch.put(headKey(jobNo), encode(headRow, head));
  }
  for (const jobNo of records.keys()) {
    if (!readHead(storage, jobNo)) batch.put(deletedKey(jobNo), Uint8Array.of());
  }
  batch.put(storeKey, encode(storeRow, row));
  await storage.write(batch, { durability: 'synced' });
}

function countRows({ row, tasks, cells }: JobRows) {
  const all = new JobCells(row);
  let versions = 0;
  let epochs = 0;
  for (const { taskId, epoch, state } of tasks) {
    all.setLost(taskId, state === 'lost');
    epochs += epoch;
  }
  for (const cell of cells) {
    all.set(cell, cell.status, cell.progress);
    versions += cell.version;
  }
  return Object.assign(all.recount(), { versions, epochs });
}

async function countRecords(storage: Storage): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  const count = (key: Uint8Array) => {
    const jobNo = jobNoOfKey(key);
    counts.set(jobNo, (counts.get(jobNo) ?? 0) + 1);
  };
  await readRows(storage, kindRange(KeyKind.log), { row: count, damaged: count });
  return counts;
}

function undefinedIfCorrupt(thrown: unknown): undefined {
  if (!isCorrupt(thrown)) throw thrown;
}

// Removes the rows of deleted jobs, a few keys at a time so that the size of a commit does not depend on the job.
//
// A deleted job has an `x` row with its number. That row is removed last, so a removal interrupted by a crash restarts
// at the next start. Every step is synced: the `x` row must not disappear before the rows it stands for. Damaged rows
// are removed too: their keys are enough.

export interface DeletionsDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
}

const KINDS = [KeyKind.log, KeyKind.cell, KeyKind.task, KeyKind.tag, KeyKind.head] as const;
/** Delay before retrying after a failure, for example when the disk is full. */
const RETRY_MS = 1_000;

export class Deletions {
  readonly #deps: DeletionsDeps;
  readonly #keysMax: number;
  readonly #stop = new AbortController();
  /** Job numbers of deletions that are committed but not yet carried out. */
  readonly #jobNos: number[] = [];
  #running: Promise<void> | undefined;

  constructor(deps: DeletionsDeps, keysMax: number) {
    this.#deps = deps;
    this.#keysMax = keysMax;
  }

  get pendingCount(): number {
    return this.#jobNos.length;
  }

  /** Call it once the job's `x` row is stored. */
  add(jobNo: number): void {
    this.#jobNos.push(jobNo);
    if (this.#stop.signal.aborted) return;
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#deps;
    const { signal } = this.#stop;
    for (let jobNo = this.#jobNos[0]; jobNo !== undefined && !signal.aborted; ) {
      try {
        await this.#removeJob(jobNo);
        this.#jobNos.shift();
      } catch (thrown) {
        this.#jobNos.push(...this.#jobNos.splice(0, 1)); // try the others first: only this job may be affected
        const { code } = SynclineError.from(thrown, 'storage-failed');
        if (code === 'closed' || code === 'storage-failed') break; // resumed at the next start
        logger.warn('🟡 a deleted job still has rows', { error: code });
        await clock.sleep(RETRY_MS, signal).catch(() => {}); // stopped: the loop ends
      }
      jobNo = this.#jobNos[0];
    }
    this.#running = undefined;
  }

  async #removeJob(jobNo: number): Promise<void> {
    for (const kind of KINDS) {
      for (let isDone = false; !isDone; ) {
        if (this.#stop.signal.aborted) return;
        const keys = await this.#readKeys(kind, jobNo);
        if (keys.length > 0) await this.#commit(keys);
        isDone = keys.length < this.#keysMax;
      }
    }
    await this.#commit([deletedKey(jobNo)]);
  }

  async #readKeys(kind: (typeof KINDS)[number], jobNo: number): Promise<readonly Uint8Array[]> {
    const { storage } = this.#deps;
    const keys: Uint8Array[] = [];
    await storage.whenReadable();
    for await (const rows of readBatches(storage, jobRange(kind, jobNo))) {
      for (const { key } of rows) {
        keys.push(key);
        if (keys.length === this.#keysMax) return keys;
      }
    }
    return keys;
  }

  async #commit(keys: readonly Uint8Array[]): Promise<void> {
    const batch = new StorageBatch();
    for (const key of keys) batch.delete(key);
    await this.#deps.storage.write(batch, { durability: 'synced' });
  }
}
