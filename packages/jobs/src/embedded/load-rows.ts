// Reads rows from the storage: ranges of them, of which some may be damaged, and all rows of a job.
//
// A job does not change while it is not loaded, so consecutive reads are consistent.
import { type Storage, type StorageReads, SynclineError } from '@syncline/kernel';
import { hasCode } from '../core/refusals.js';
import type { TaskRow } from '../core/rows.js';
import type { CellPlace, DamagedRow, JobRows } from '../engine/store-adapter.js';
import * as rows from './rows.js';

export interface RowVisitor {
  row(key: Uint8Array, value: Uint8Array): void;
  damaged(key: Uint8Array, error: SynclineError): void;
}

export async function readRows(
  reads: StorageReads,
  range: rows.KeyRange,
  visitor: RowVisitor,
): Promise<void> {
  for await (const batch of readBatches(reads, range)) {
    for (const { key, value } of batch) {
      try {
        if (value instanceof SynclineError) throw value;
        visitor.row(key, value);
      } catch (thrown) {
        if (!hasCode(thrown, 'corrupt')) throw thrown;
        visitor.damaged(key, thrown);
      }
    }
  }
}

/** A row as read from the storage. For a damaged one, `value` is the error. */
export type ReadRow = Readonly<{ key: Uint8Array; value: Uint8Array | SynclineError }>;

/** Reads a range in the storage's batches. A damaged row does not end the read. */
export async function* readBatches(
  reads: StorageReads,
  { from, to }: rows.KeyRange,
): AsyncGenerator<readonly ReadRow[]> {
  for (let next = from; ; ) {
    try {
      for await (const entries of reads.range({ from: next, to }).batches()) {
        const last = entries.at(-1);
        if (last) next = keyBehind(last.key);
        yield entries;
      }
      return;
    } catch (thrown) {
      const key = hasCode(thrown, 'corrupt') && damagedKeyOf(thrown);
      if (!key) throw thrown;
      yield* reads.range({ from: next, to: key }).batches();
      yield [{ key, value: thrown }];
      next = keyBehind(key);
    }
  }
}

function damagedKeyOf({ details: { keyHex } }: SynclineError): Uint8Array | undefined {
  const isWhole = typeof keyHex === 'string' && /^[0-9a-f]+$/.test(keyHex);
  return isWhole ? Buffer.from(keyHex, 'hex') : undefined;
}

function keyBehind(key: Uint8Array): Uint8Array {
  const behind = new Uint8Array(key.length + 1);
  behind.set(key);
  return behind;
}

export interface EmbeddedHandle {
  readonly jobNo: number;
  /** By tag number. Undefined if the name is damaged: the number must still not be reused. */
  readonly tags: (string | undefined)[];
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
): Promise<JobRows<EmbeddedHandle> | undefined> {
  const key = rows.jobKey(jobId);
  const bytes = storage.get(key);
  if (!bytes) return undefined;
  const { jobNo, row } = rows.decodeJobRow(key, bytes, jobId);
  const headKey = rows.headKey(jobNo);
  const head = rows.readRow(storage, rows.headRow, headKey);
  if (!head) throw rows.corruptRow(headKey);
  const tags: EmbeddedHandle['tags'] = [];
  const tasks: TaskRow[] = [];
  const cells: CellPlace[] = [];
  const damage: DamagedRow[] = [];
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
