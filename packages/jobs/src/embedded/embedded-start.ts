// Reads what a store needs at startup: the number of jobs, the held leases, and deletions that a crash interrupted. If
// buffered writes may have been lost, it first repairs what the loss can leave behind:
//
// - A head may count cells and records that are gone, or miss ones that reappeared: everything is recounted.
// - A record may reappear because its removal was lost: compaction starts again at the beginning of the log.
// - Such a record may belong to a job that was fully deleted: the job is deleted again.
// - Cursors may contain revisions that will be reused: the generation of all cursors is raised.
import { type Storage, StorageBatch } from '@syncline/kernel';
import { encode } from '@syncline/kernel/wire';
import { hasCode } from '../core/refusals.js';
import { countRows } from '../engine/job-mirror.js';
import type { JobHead, StoreStart } from '../engine/store-adapter.js';
import { loadRows, readRows } from './load-rows.js';
import * as rows from './rows.js';

export interface EmbeddedStart extends Omit<StoreStart, 'generation'> {
  readonly row: rows.StoreRow;
  readonly hasBufferedMark: boolean;
  readonly deletedJobNos: readonly number[];
}

/** By job number. */
type KnownJobs = ReadonlyMap<number, Readonly<{ jobId: string; incarnation: string }>>;

export async function readStart(storage: Storage): Promise<EmbeddedStart> {
  await storage.whenReadable();
  const hasBufferedMark = storage.get(rows.bufferedKey) !== undefined;
  const jobs = await readJobs(storage);
  const first = { nextJobNo: 1, generation: 0 };
  const stored = rows.readRow(storage, rows.storeRow, rows.storeKey) ?? first;
  const row = hasBufferedMark ? { ...stored, generation: stored.generation + 1 } : stored;
  if (hasBufferedMark) await repair(storage, row, jobs);
  const deletedJobNos: number[] = [];
  await readKeys(storage, rows.KeyKind.deleted, (jobNo) => deletedJobNos.push(jobNo));
  let logRecords = 0;
  for (const jobNo of jobs.keys()) {
    const head = readHead(storage, jobNo);
    if (head !== 'damaged') logRecords += head?.logRecords ?? 0;
  }
  const heldLeases = await readHeldLeases(storage, jobs);
  return { row, hasBufferedMark, jobsCount: jobs.size, logRecords, heldLeases, deletedJobNos };
}

/** A job with damaged metadata is counted under a negative number; reading it throws `corrupt`. */
async function readJobs(storage: Storage): Promise<KnownJobs> {
  const jobs = new Map<number, { readonly jobId: string; readonly incarnation: string }>();
  await readRows(storage, rows.jobsRange('', ''), {
    row: (key, value) => {
      const { jobNo, row } = rows.decodeJobRow(key, value, rows.jobIdOfKey(key));
      jobs.set(jobNo, row);
    },
    damaged: (key) => {
      jobs.set(-1 - jobs.size, { jobId: rows.jobIdOfKey(key), incarnation: '' });
    },
  });
  return jobs;
}

/** They get a full TTL: downtime of the store does not count against their holders. */
async function readHeldLeases(storage: Storage, jobs: KnownJobs) {
  const leases: StoreStart['heldLeases'][number][] = [];
  await readRows(storage, rows.kindRange(rows.KeyKind.task), {
    row: (key, value) => {
      const job = jobs.get(rows.jobNoOfKey(key));
      const { taskId, epoch, state, ttlMs } = rows.decodeRow(rows.taskRow, key, value);
      if (!job || state !== 'held' || ttlMs === 0) return;
      leases.push({ jobId: job.jobId, incarnation: job.incarnation, taskId, epoch, ttlMs });
    },
    damaged: () => {}, // reported when the task is read
  });
  return leases;
}

/** The head is removed last: without one, the job is gone. */
function readHead(storage: Storage, jobNo: number): JobHead | 'damaged' | undefined {
  if (jobNo < 0) return 'damaged';
  try {
    return rows.readRow(storage, rows.headRow, rows.headKey(jobNo));
  } catch (thrown) {
    if (hasCode(thrown, 'corrupt')) return 'damaged';
    throw thrown;
  }
}

async function repair(storage: Storage, row: rows.StoreRow, jobs: KnownJobs): Promise<void> {
  const batch = new StorageBatch();
  const records = new Map<number, number>();
  await readKeys(storage, rows.KeyKind.log, (jobNo) =>
    records.set(jobNo, (records.get(jobNo) ?? 0) + 1),
  );
  for (const { jobId } of jobs.values()) {
    const job = await loadRows(storage, jobId).catch((thrown: unknown) => {
      if (!hasCode(thrown, 'corrupt')) throw thrown;
    });
    if (!job) continue;
    const { jobNo } = job.handle;
    const logRecords = records.get(jobNo) ?? 0;
    const head = { ...job.head, logRecords, compactedTo: 0, counts: countRows(job).counts };
    batch.put(rows.headKey(jobNo), encode(rows.headRow, head));
  }
  for (const jobNo of records.keys())
    if (!readHead(storage, jobNo)) batch.put(rows.deletedKey(jobNo), Uint8Array.of());
  batch.put(rows.storeKey, encode(rows.storeRow, row));
  await storage.write(batch, { durability: 'synced' });
}

/** Calls back for each row of a kind, damaged or not. */
async function readKeys(
  storage: Storage,
  kind: typeof rows.KeyKind.log | typeof rows.KeyKind.deleted,
  onRow: (jobNo: number) => void,
): Promise<void> {
  const row = (key: Uint8Array) => onRow(rows.jobNoOfKey(key));
  await readRows(storage, rows.kindRange(kind), { row, damaged: row });
}
