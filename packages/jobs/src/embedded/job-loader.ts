// Brings a job into memory: its metadata and head, then tags, tasks and cells from their ranges.
//
// Nobody changes a job that is not loaded, so several reads one after the other show one moment.
import { type Storage, type StorageReads, SynclineError } from '@syncline/kernel';
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
      if (job) await readParts(storage, job);
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

async function readParts(reads: StorageReads, job: LoadedJob): Promise<void> {
  const { jobNo, tags, tasks, places, aggregates, damage } = job;
  await readRows(reads, jobRange(KeyKind.tag, jobNo), {
    row: (key, value) => tags.set(tagNoOfTagKey(key), decodeTag(key, value)),
    damaged: (key) => tags.set(tagNoOfTagKey(key), undefined),
  });
  await readRows(reads, jobRange(KeyKind.task, jobNo), {
    row: (key, value) => {
      const task = decodeTask(key, value, taskIdOfKey(key));
      tasks.set(task.taskId, task);
      if (task.state === 'lost') aggregates.setLost(task.taskId, true);
    },
    damaged: (key, error) => damage.addTask(taskIdOfKey(key), error),
  });
  await readRows(reads, jobRange(KeyKind.cell, jobNo), {
    row: (key, value) => {
      const { tagNo, taskId } = cellOfKey(key);
      const { revision, status } = decodeCellPlace(key, value);
      const tag = tags.nameOf(tagNo);
      if (tag === undefined) throw corruptRow(key);
      places.set(tagNo, taskId, revision);
      aggregates.set(taskId, tag, status);
    },
    damaged: (key, error) => {
      const { tagNo, taskId } = cellOfKey(key);
      damage.addCell({ taskId, tag: tags.nameOf(tagNo), error });
    },
  });
}
