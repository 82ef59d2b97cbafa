// What a store finds when it starts: how many jobs there are, which leases are held, which deletions a crash
// has cut off.
//
// A store that took buffered writes and did not end in order may have lost some, and its cursors may name
// revisions that will be given again: then the generation of all cursors is raised before anybody gets one, and
// what such a loss leaves behind is repaired.
import type { Random, Storage } from '@syncline/kernel';
import type { WatchedLease } from '../leases/lease-watch.js';
import {
  bufferedKey,
  deletedRange,
  headKey,
  jobIdOfKey,
  jobNoOfKey,
  jobsRange,
  storeKey,
  taskIdOfKey,
  tasksOfAllJobs,
} from './keys.js';
import { isCorrupt, readRows } from './read-rows.js';
import type { RetentionOptions } from './retention-marks.js';
import {
  decodeHead,
  decodeJobRow,
  decodeStoreRow,
  decodeTask,
  type StoreRow,
} from './row-codec.js';
import type { StoreFacts } from './store-ledger.js';
import { repairUncleanStart } from './unclean-start.js';

export interface StartFacts extends StoreFacts {
  /** They get a full ttl: the time in which the store was down counts against nobody. */
  readonly heldLeases: readonly (WatchedLease & { readonly ttlMs: number })[];
  readonly deletedJobNos: readonly number[];
}

/** What is known of a job before it is loaded. */
interface KnownJob {
  readonly jobId: string;
  readonly incarnation: string;
}

const STORE_ID_BYTES = 6;

export async function readStartFacts(
  { storage, random }: { readonly storage: Storage; readonly random: Random },
  retention: RetentionOptions,
): Promise<StartFacts> {
  await storage.whenReadable();
  const hasBufferedMark = storage.get(bufferedKey) !== undefined;
  const jobs = await readJobs(storage);
  const stored = readStoreRow(storage) ?? newStoreRow(random);
  const row = hasBufferedMark ? { ...stored, generation: stored.generation + 1 } : stored;
  if (hasBufferedMark)
    await repairUncleanStart(storage, {
      row,
      jobIds: Array.from(jobs.values(), ({ jobId }) => jobId),
      retention,
    });
  const deletedJobNos: number[] = [];
  await readRows(storage, deletedRange, {
    row: (key) => deletedJobNos.push(jobNoOfKey(key)),
    damaged: (key) => deletedJobNos.push(jobNoOfKey(key)),
  });
  return {
    row,
    hasBufferedMark,
    jobsCount: jobs.size,
    logRecords: countRecords(storage, jobs.keys()),
    heldLeases: await readHeldLeases(storage, jobs),
    deletedJobNos,
  };
}

function readStoreRow(storage: Storage): StoreRow | undefined {
  const bytes = storage.get(storeKey);
  return bytes && decodeStoreRow(storeKey, bytes);
}

function newStoreRow(random: Random): StoreRow {
  const storeId = Buffer.from(random.bytes(STORE_ID_BYTES)).toString('hex');
  return { storeId, nextJobNo: 1, generation: 0 };
}

/** By number. A job whose metadata is damaged says so when it is asked for. */
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
      // It counts, under a number that no job has.
      jobs.set(-damagedCount, { jobId: jobIdOfKey(key), incarnation: '' });
    },
  });
  return jobs;
}

async function readHeldLeases(
  storage: Storage,
  jobs: ReadonlyMap<number, KnownJob>,
): Promise<StartFacts['heldLeases']> {
  const leases: (WatchedLease & { readonly ttlMs: number })[] = [];
  await readRows(storage, tasksOfAllJobs, {
    row: (key, value) => {
      const jobNo = jobNoOfKey(key);
      const job = jobs.get(jobNo);
      const { taskId, epoch, state, ttlMs } = decodeTask(key, value, taskIdOfKey(key));
      if (!job || state !== 'held' || ttlMs === 0) return;
      leases.push({ ...job, taskId, epoch, ttlMs });
    },
    damaged: () => {}, // said to whoever asks for that task
  });
  return leases;
}

/** A job whose head is damaged says so when it is asked for. */
function countRecords(storage: Storage, jobNos: Iterable<number>): number {
  let count = 0;
  for (const jobNo of jobNos) {
    if (jobNo < 0) continue;
    const key = headKey(jobNo);
    const bytes = unlessCorrupt(() => storage.get(key));
    const head = bytes && unlessCorrupt(() => decodeHead(key, bytes));
    count += head?.logRecords ?? 0;
  }
  return count;
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
