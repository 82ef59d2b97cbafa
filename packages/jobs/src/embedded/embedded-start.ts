// What a store finds when it starts: how many jobs there are, which leases are held, which deletions a crash has cut
// off. And the repair of what a loss of buffered writes can leave behind, before anybody sees it:
//
// - A head counts cells and records that are gone, or not those that are back: everything is counted again.
// - A record is back whose removal was lost. Compaction starts at the beginning of the log again.
// - Such a record can belong to a job whose deletion is done: it is deleted once more.
// - Cursors may name revisions that will be given again: the generation of all cursors is raised.
//
// The repair reads the whole log once. That is the price of buffered writes and a store that was not closed.
import { type Storage, StorageBatch } from '@syncline/kernel';
import { JobCells } from '../engine/job-cells.js';
import type { JobHead, JobRows, StoreStart } from '../engine/store-adapter.js';
import { encode } from '../wire/proto-message.js';
import {
  bufferedKey,
  deletedKey,
  deletedRange,
  headKey,
  jobIdOfKey,
  jobNoOfKey,
  jobsRange,
  logOfAllJobs,
  storeKey,
  tasksOfAllJobs,
} from './keys.js';
import { loadRows } from './load-rows.js';
import { isCorrupt, readRows } from './read-rows.js';
import { decodeJobRow, decodeRow, headRow, type StoreRow, storeRow, taskRow } from './rows.js';

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
  await readRows(storage, deletedRange, { row: noteDeleted, damaged: noteDeleted });
  return {
    row,
    hasBufferedMark,
    jobsCount: jobs.size,
    logRecords: countStored(storage, jobs.keys()),
    heldLeases: await readHeldLeases(storage, jobs),
    deletedJobNos,
  };
}

/** By number. A job whose metadata is damaged counts under a number that no job has, and says so when asked for. */
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

/** They get a full ttl: the time in which the store was down counts against nobody. */
async function readHeldLeases(
  storage: Storage,
  jobs: ReadonlyMap<number, KnownJob>,
): Promise<StoreStart['heldLeases']> {
  const leases: StoreStart['heldLeases'][number][] = [];
  await readRows(storage, tasksOfAllJobs, {
    row: (key, value) => {
      const job = jobs.get(jobNoOfKey(key));
      const { taskId, epoch, state, ttlMs } = decodeRow(taskRow, key, value);
      if (job && state === 'held' && ttlMs > 0) leases.push({ ...job, taskId, epoch, ttlMs });
    },
    damaged: () => {}, // reported to whoever asks for that task
  });
  return leases;
}

function countStored(storage: Storage, jobNos: Iterable<number>): number {
  let count = 0;
  for (const jobNo of jobNos) {
    if (jobNo > 0) count += unlessCorrupt(() => readHead(storage, jobNo))?.logRecords ?? 0;
  }
  return count;
}

function readHead(storage: Storage, jobNo: number): JobHead | undefined {
  const key = headKey(jobNo);
  const bytes = storage.get(key);
  return bytes && decodeRow(headRow, key, bytes);
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
    if (!hasHead(storage, jobNo)) batch.put(deletedKey(jobNo), Uint8Array.of());
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

/** By the number of the job. */
async function countRecords(storage: Storage): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  const count = (key: Uint8Array) => {
    const jobNo = jobNoOfKey(key);
    counts.set(jobNo, (counts.get(jobNo) ?? 0) + 1);
  };
  await readRows(storage, logOfAllJobs, { row: count, damaged: count });
  return counts;
}

/** A head goes last, so without one the job is gone. A damaged one is there. */
function hasHead(storage: Storage, jobNo: number): boolean {
  try {
    return storage.get(headKey(jobNo)) !== undefined;
  } catch (thrown) {
    undefinedIfCorrupt(thrown);
    return true;
  }
}

function unlessCorrupt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    return undefinedIfCorrupt(thrown);
  }
}

function undefinedIfCorrupt(thrown: unknown): undefined {
  if (!isCorrupt(thrown)) throw thrown;
}
