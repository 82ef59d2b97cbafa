// Reads rows from the storage: ranges of them, of which some may be damaged, all rows of a job, and what a store needs at
// startup. A job does not change while it is not loaded, so consecutive reads are consistent.
import type { Storage, StorageReads } from '@syncline/kernel';
import { readSound, StorageBatch, SynclineError } from '@syncline/kernel';
import { encode } from '@syncline/kernel/wire';
import { hasCode } from '../core/refusals.js';
import type { TaskRow } from '../core/rows.js';
import { countRows } from '../engine/job-mirror.js';
import type * as port from '../engine/store-adapter.js';
import * as rows from './rows.js';

type Decode<T> = (key: Uint8Array, value: Uint8Array) => T;

/** A damaged row that is not visited here is reported when its job or task is read. */
export async function readRows(
  reads: StorageReads,
  range: rows.KeyRange,
  visitor: Readonly<{ row: Decode<void>; damaged?(key: Uint8Array, error: SynclineError): void }>,
): Promise<void> {
  for await (const batch of readBatches(reads, range)) {
    for (const row of batch) {
      const result = decodeOrError(row, visitor.row);
      if (result instanceof SynclineError) visitor.damaged?.(row.key, result);
    }
  }
}

/** A row as read from the storage. For a damaged one, `value` is the error. */
export type ReadRow = Readonly<{ key: Uint8Array; value: Uint8Array | SynclineError }>;

/** Returns the error if the storage or `decode` finds the row damaged. */
export function decodeOrError<T>({ key, value }: ReadRow, decode: Decode<T>): T | SynclineError {
  try {
    return value instanceof SynclineError ? value : decode(key, value);
  } catch (thrown) {
    if (hasCode(thrown, 'corrupt')) return thrown;
    throw thrown;
  }
}

/** Reads a range in the storage's batches. A damaged row does not end the read, unless its key is truncated. */
export async function* readBatches(
  reads: StorageReads,
  range: rows.KeyRange,
): AsyncGenerator<readonly ReadRow[]> {
  for await (const { entries, damaged } of readSound(reads, range)) {
    yield entries;
    for (const { key, isTruncated, error } of damaged) {
      if (isTruncated) throw error;
      yield [{ key, value: error }];
    }
  }
}

export interface EmbeddedHandle {
  readonly jobNo: number;
  /** By tag number. Undefined if the name is damaged: the number must still not be reused. */
  readonly tags: readonly (string | undefined)[];
}

/** The number of a tag. A new tag gets the next one at its first write. */
export function tagNoOf({ tags }: EmbeddedHandle, tag: string): number {
  const tagNo = tags.indexOf(tag);
  return tagNo === -1 ? tags.length : tagNo;
}

/** Undefined if the job does not exist. Throws `corrupt` if its metadata or head is damaged. */
export async function loadRows(
  storage: Storage,
  jobId: string,
): Promise<port.JobRows<EmbeddedHandle> | undefined> {
  const key = rows.jobKey(jobId);
  const bytes = storage.get(key);
  if (!bytes) return undefined;
  const { jobNo, row } = rows.decodeJobRow(key, bytes);
  const headKey = rows.headKey(jobNo);
  const head = rows.readRow(storage, rows.headRow, headKey);
  if (!head) throw rows.corruptRow(headKey);
  const tags: (string | undefined)[] = [];
  const tasks: TaskRow[] = [];
  const cells: port.CellPlace[] = [];
  const damage: port.DamagedRow[] = [];
  const setTag = (tagKey: Uint8Array, tag: string | undefined) => {
    tags[rows.tagNoOfKey(tagKey)] = tag;
  };
  await readRows(storage, rows.jobRange(rows.KeyKind.tag, jobNo), {
    row: (tagKey, value) => setTag(tagKey, rows.decodeRow(rows.tagRow, tagKey, value).tag),
    damaged: (tagKey) => setTag(tagKey, undefined),
  });
  await readRows(storage, rows.jobRange(rows.KeyKind.task, jobNo), {
    row: (taskKey, value) => void tasks.push(rows.decodeRow(rows.taskRow, taskKey, value)),
    damaged: (taskKey, error) => {
      damage.push({ kind: 'lease', taskId: rows.taskIdOfKey(taskKey), tag: '', error });
    },
  });
  await readRows(storage, rows.jobRange(rows.KeyKind.cell, jobNo), {
    row: (cellKey, value) => {
      const { tagNo, taskId } = rows.cellOfKey(cellKey);
      const tag = tags[tagNo];
      if (tag === undefined) throw rows.corruptRow(cellKey);
      const { version, revision, status, progress } = rows.decodeCell(cellKey, value, false);
      cells.push({ taskId, tag, version, revision, status, progress });
    },
    damaged: (cellKey, error) => {
      const { tagNo, taskId } = rows.cellOfKey(cellKey);
      damage.push({ kind: 'state', taskId, tag: tags[tagNo], error });
    },
  });
  return { row, head, tasks, cells, handle: { jobNo, tags }, damage };
}

/** By job number. */
type KnownJobs = ReadonlyMap<number, Readonly<{ jobId: string; incarnation: string }>>;

export async function readStart(storage: Storage) {
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
  await readRows(storage, rows.kindRange(rows.KeyKind.head), {
    row: (key, value) => {
      const head = rows.decodeRow(rows.headRow, key, value);
      if (jobs.has(rows.jobNoOfKey(key))) logRecords += head.logRecords;
    },
  });
  const heldLeases = await readHeldLeases(storage, jobs);
  return { row, hasBufferedMark, jobsCount: jobs.size, logRecords, heldLeases, deletedJobNos };
}

/** A job with damaged metadata is counted under a negative number; reading it throws `corrupt`. */
async function readJobs(storage: Storage): Promise<KnownJobs> {
  const jobs = new Map<number, { readonly jobId: string; readonly incarnation: string }>();
  await readRows(storage, rows.jobsRange('', ''), {
    row: (key, value) => {
      const { jobNo, row } = rows.decodeJobRow(key, value);
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
  const leases: port.StoreStart['heldLeases'][number][] = [];
  await readRows(storage, rows.kindRange(rows.KeyKind.task), {
    row: (key, value) => {
      const job = jobs.get(rows.jobNoOfKey(key));
      const { taskId, epoch, state, ttlMs } = rows.decodeRow(rows.taskRow, key, value);
      if (!job || state !== 'held' || ttlMs === 0) return;
      leases.push({ jobId: job.jobId, incarnation: job.incarnation, taskId, epoch, ttlMs });
    },
  });
  return leases;
}

/**
 * Repairs what lost buffered writes can leave behind:
 *
 * - A head may count cells and records that are gone, or miss ones that reappeared: everything is recounted.
 * - A record may reappear because its removal was lost: compaction starts again at the beginning of the log.
 * - Such a record may belong to a job that was fully deleted: the job is deleted again.
 * - Cursors may contain revisions that will be reused: the generation of all cursors is raised.
 */
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
  // The head is removed last: without one, the job is gone.
  await readKeys(storage, rows.KeyKind.head, (jobNo) => records.delete(jobNo));
  for (const jobNo of records.keys()) batch.put(rows.deletedKey(jobNo), Uint8Array.of());
  batch.put(rows.storeKey, encode(rows.storeRow, row));
  await storage.write(batch, { durability: 'synced' });
}

/** Calls back for each row of a kind, damaged or not. */
async function readKeys(
  storage: Storage,
  kind: rows.JobKeyKind,
  onRow: (jobNo: number) => void,
): Promise<void> {
  const row = (key: Uint8Array) => onRow(rows.jobNoOfKey(key));
  await readRows(storage, rows.kindRange(kind), { row, damaged: row });
}
