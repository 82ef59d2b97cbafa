// Reads the rows of a job from the storage: metadata and head, then tags, tasks and cells from their ranges.
//
// Nobody changes a job that is not loaded, so several reads one after the other show one moment.
import type { Storage, StorageReads } from '@syncline/kernel';
import type { TaskRow } from '../core/rows.js';
import type { CellPlace, DamagedRows, JobRows } from '../engine/store-adapter.js';
import {
  cellOfKey,
  headKey,
  jobKey,
  jobRange,
  KeyKind,
  tagNoOfTagKey,
  taskIdOfKey,
} from './keys.js';
import { readRows } from './read-rows.js';
import {
  corruptRow,
  decodeCell,
  decodeJobRow,
  decodeRow,
  headRow,
  tagRow,
  taskRow,
} from './rows.js';
import { TagDictionary } from './tag-dictionary.js';

/** What the adapter needs to know of a job in memory. */
export interface EmbeddedHandle {
  readonly jobNo: number;
  readonly tags: TagDictionary;
  readonly damage: DamagedRows;
  /** Throws `corrupt` if the row of the cell is damaged. */
  checkCell(taskId: number, tag: string): void;
}

type Damage = {
  readonly cells: EmbeddedHandle['damage']['cells'][number][];
  readonly tasks: EmbeddedHandle['damage']['tasks'][number][];
};

/** Undefined: there is no such job. Throws `corrupt` if its metadata or head is damaged. */
export async function loadRows(
  storage: Storage,
  jobId: string,
): Promise<JobRows<EmbeddedHandle> | undefined> {
  const key = jobKey(jobId);
  const bytes = storage.get(key);
  if (!bytes) return undefined;
  const { jobNo, row } = decodeJobRow(key, bytes, jobId);
  const keyOfHead = headKey(jobNo);
  const headBytes = storage.get(keyOfHead);
  if (!headBytes) throw corruptRow(keyOfHead);
  const head = decodeRow(headRow, keyOfHead, headBytes);
  const damage: Damage = { cells: [], tasks: [] };
  const handle = newHandle(jobNo, damage);
  await readTags(storage, handle);
  const tasks = await readTasks(storage, handle, damage);
  const cells = await readCells(storage, handle, damage);
  return { row, head, tasks, cells, handle, damage };
}

export function newHandle(
  jobNo: number,
  damage: EmbeddedHandle['damage'] = { cells: [], tasks: [] },
): EmbeddedHandle {
  return {
    jobNo,
    tags: new TagDictionary(),
    damage,
    checkCell(taskId, tag) {
      for (const cell of damage.cells) {
        if (cell.taskId === taskId && (cell.tag === undefined || cell.tag === tag))
          throw cell.error;
      }
    },
  };
}

async function readTags(reads: StorageReads, { jobNo, tags }: EmbeddedHandle): Promise<void> {
  await readRows(reads, jobRange(KeyKind.tag, jobNo), {
    row: (key, value) => tags.set(tagNoOfTagKey(key), decodeRow(tagRow, key, value).tag),
    damaged: (key) => tags.set(tagNoOfTagKey(key), undefined),
  });
}

async function readTasks(
  reads: StorageReads,
  { jobNo }: EmbeddedHandle,
  damage: Damage,
): Promise<readonly TaskRow[]> {
  const tasks: TaskRow[] = [];
  await readRows(reads, jobRange(KeyKind.task, jobNo), {
    row: (key, value) => void tasks.push(decodeRow(taskRow, key, value)),
    damaged: (key, error) => void damage.tasks.push({ taskId: taskIdOfKey(key), error }),
  });
  return tasks;
}

async function readCells(
  reads: StorageReads,
  { jobNo, tags }: EmbeddedHandle,
  damage: Damage,
): Promise<readonly CellPlace[]> {
  const cells: CellPlace[] = [];
  await readRows(reads, jobRange(KeyKind.cell, jobNo), {
    row: (key, value) => {
      const { tagNo, taskId } = cellOfKey(key);
      const tag = tags.nameOf(tagNo);
      if (tag === undefined) throw corruptRow(key);
      const { version, revision, status, progress } = decodeCell(key, value, false).row;
      cells.push({ taskId, tag, version, revision, status, progress });
    },
    damaged: (key, error) => {
      const { tagNo, taskId } = cellOfKey(key);
      damage.cells.push({ taskId, tag: tags.nameOf(tagNo), error });
    },
  });
  return cells;
}
