// Repairs what a loss of buffered writes can leave behind, before anybody sees it.
//
// - A head counts cells and records that are gone, or not those that are back: all is counted anew.
// - A record is back whose removal was lost. Compaction has passed it, so it begins at the start of the log again.
//   No cursor notices: all of them are reset, and new ones lie behind the head.
// - Such a record can belong to a job whose deletion was done since: it is deleted once more.
//
// It reads the whole log once. That is the price of buffered writes and a store that was not closed.
import { type Storage, StorageBatch } from '@syncline/kernel';
import { loadJob } from './job-loader.js';
import { deletedKey, headKey, jobNoOfKey, logOfAllJobs, storeKey } from './keys.js';
import { isCorrupt, readRows } from './read-rows.js';
import { recountedHead } from './recounted-head.js';
import type { RetentionOptions } from './retention-marks.js';
import { encodeHead, encodeStoreRow, type StoreRow } from './row-codec.js';
import { RowWriter } from './row-writer.js';

export async function repairUncleanStart(
  storage: Storage,
  found: {
    /** With the new generation of cursors. */
    readonly row: StoreRow;
    readonly jobIds: readonly string[];
    readonly retention: RetentionOptions;
  },
): Promise<void> {
  const writer = new RowWriter();
  const batch = new StorageBatch();
  const records = await countRecords(storage);
  for (const jobId of found.jobIds) {
    const job = await loadJob(storage, jobId, found.retention).catch(undefinedIfCorrupt);
    if (!job) continue;
    const key = headKey(job.jobNo);
    const logRecords = records.get(job.jobNo) ?? 0;
    const head = { ...recountedHead(job), logRecords, compactedTo: 0 };
    batch.put(key, encodeHead(writer, key, head));
  }
  for (const jobNo of records.keys()) {
    if (!hasHead(storage, jobNo)) batch.put(deletedKey(jobNo), Uint8Array.of());
  }
  batch.put(storeKey, encodeStoreRow(writer, storeKey, found.row));
  await storage.write(batch, { durability: 'synced' });
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

function undefinedIfCorrupt(thrown: unknown): undefined {
  if (!isCorrupt(thrown)) throw thrown;
}
