// Brings a job into memory: its metadata and head, then tags, tasks and cells from their ranges.
//
// Nobody changes a job that is not loaded, so several reads one after the other show one moment.
//
// J3  A job that lacks rows which were acknowledged is `corrupt`: what its rows add up to is in its head.
import { type Storage, type StorageReads, SynclineError } from '@syncline/kernel';
import type { RowSums } from './head.js';
import {
  cellOfKey,
  headKey,
  jobKey,
  jobRange,
  KeyKind,
  tagNoOfTagKey,
  taskIdOfKey,
} from './keys.js';
import { LoadedJob } from './loaded-job.js';
import { readRows } from './read-rows.js';
import type { RetentionOptions } from './retention-marks.js';
import { decodeCellPlace, decodeHead, decodeJobRow, decodeTag, decodeTask } from './row-codec.js';
import { corruptRow } from './row-reader.js';

/** Undefined: there is no such job. A store that is being opened anew is waited for. */
export async function loadJob(
  storage: Storage,
  jobId: string,
  retention: RetentionOptions,
): Promise<LoadedJob | undefined> {
  for (;;) {
    await storage.whenReadable();
    try {
      const job = readJob(storage, jobId, retention);
      if (job) job.found = await readParts(storage, job);
      if (job) checkSums(job);
      return job;
    } catch (thrown) {
      const isLost = thrown instanceof SynclineError && thrown.code === 'unavailable';
      if (!isLost) throw thrown;
    }
  }
}

function readJob(
  reads: StorageReads,
  jobId: string,
  retention: RetentionOptions,
): LoadedJob | undefined {
  const key = jobKey(jobId);
  const bytes = reads.get(key);
  if (!bytes) return undefined;
  const { jobNo, row } = decodeJobRow(key, bytes, jobId);
  const keyOfHead = headKey(jobNo);
  const headBytes = reads.get(keyOfHead);
  if (!headBytes) throw corruptRow(keyOfHead);
  return new LoadedJob({ jobNo, row, head: decodeHead(keyOfHead, headBytes) }, retention);
}

async function readParts(reads: StorageReads, job: LoadedJob): Promise<RowSums> {
  const { jobNo, tags, tasks, places, aggregates, damage } = job;
  let versions = 0;
  let epochs = 0;
  await readRows(reads, jobRange(KeyKind.tag, jobNo), {
    row: (key, value) => tags.set(tagNoOfTagKey(key), decodeTag(key, value)),
    damaged: (key) => tags.set(tagNoOfTagKey(key), undefined),
  });
  await readRows(reads, jobRange(KeyKind.task, jobNo), {
    row: (key, value) => {
      const task = decodeTask(key, value, taskIdOfKey(key));
      tasks.set(task.taskId, task);
      epochs += task.epoch;
      if (task.state === 'lost') aggregates.setLost(task.taskId, true);
    },
    damaged: (key, error) => damage.addTask(taskIdOfKey(key), error),
  });
  await readRows(reads, jobRange(KeyKind.cell, jobNo), {
    row: (key, value) => {
      const { tagNo, taskId } = cellOfKey(key);
      const { version, revision, status } = decodeCellPlace(key, value);
      const tag = tags.nameOf(tagNo);
      if (tag === undefined) throw corruptRow(key);
      versions += version;
      places.set(tagNo, taskId, revision);
      aggregates.set(taskId, tag, status);
    },
    damaged: (key, error) => {
      const { tagNo, taskId } = cellOfKey(key);
      damage.addCell({ taskId, tag: tags.nameOf(tagNo), error });
    },
  });
  return { versions, epochs };
}

/** Damaged rows are told one by one, and left out of the sums. */
function checkSums({ row, head, found, damage }: LoadedJob): void {
  const { versions, epochs } = head.sums;
  if (damage.hasDamagedRows || (versions === found.versions && epochs === found.epochs)) return;
  damage.setWhole(
    new SynclineError(
      'corrupt',
      `job "${row.jobId}" lacks changes that were stored: its rows add up to ${found.versions} versions and ` +
        `${found.epochs} epochs, of ${versions} and ${epochs}. The disk probably damaged the log of the store. ` +
        'Restore the data directory from a backup, or delete the job.',
      { details: { jobId: row.jobId } },
    ),
  );
}
