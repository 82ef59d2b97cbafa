// Reads the rows of a job from the storage: metadata and head, then tags, tasks and cells from their ranges.
//
// A job does not change while it is not loaded, so consecutive reads are consistent.
import { type Storage, type StorageReads, SynclineError } from '@syncline/kernel';
import type { TaskRow } from '../core/rows.js';
import type { CellPlace, DamagedRows, JobRows } from '../engine/store-adapter.js';
import {
  cellOfKey,
  corruptRow,
  decodeCell,
  decodeJobRow,
  decodeRow,
  headKey,
  headRow,
  jobKey,
  jobRange,
  KeyKind,
  type KeyRange,
  tagNoOfTagKey,
  tagRow,
  taskIdOfKey,
  taskRow,
} from './rows.js';

/** The tags of a job and their numbers. A tag gets its number at its first write and keeps it. */
export class TagDictionary {
  readonly #names: (string | undefined)[] = [];
  readonly #numbers = new Map<string, number>();

  /** The number of the next new tag. Numbers of tags with damaged names are skipped. */
  get nextNumber(): number {
    return this.#names.length;
  }

  numberOf(tag: string): number | undefined {
    return this.#numbers.get(tag);
  }

  nameOf(tagNo: number): string | undefined {
    return this.#names[tagNo];
  }

  /** `tag` is undefined if the name is damaged: the number must still not be reused. */
  set(tagNo: number, tag: string | undefined): void {
    while (this.#names.length <= tagNo) this.#names.push(undefined);
    this.#names[tagNo] = tag;
    if (tag !== undefined) this.#numbers.set(tag, tagNo);
  }
}

export interface RowVisitor {
  /** May throw `corrupt`. */
  row(key: Uint8Array, value: Uint8Array): void;
  damaged(key: Uint8Array, error: SynclineError): void;
}

export async function readRows(
  reads: StorageReads,
  range: KeyRange,
  visitor: RowVisitor,
): Promise<void> {
  for await (const rows of readBatches(reads, range)) {
    for (const { key, value } of rows) {
      try {
        if (value instanceof SynclineError) throw value;
        visitor.row(key, value);
      } catch (thrown) {
        if (!isCorrupt(thrown)) throw thrown;
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
  { from, to }: KeyRange,
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
      const key = damagedKeyOf(thrown);
      if (!key || !isCorrupt(thrown)) throw thrown;
      yield* reads.range({ from: next, to: key }).batches();
      yield [{ key, value: thrown }];
      next = keyBehind(key);
    }
  }
}

export function isCorrupt(thrown: unknown): thrown is SynclineError {
  return thrown instanceof SynclineError && thrown.code === 'corrupt';
}

function damagedKeyOf(thrown: unknown): Uint8Array | undefined {
  if (!isCorrupt(thrown)) return undefined;
  const { keyHex } = thrown.details;
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
  readonly tags: TagDictionary;
}

type Damage = {
  readonly cells: DamagedRows['cells'][number][];
  readonly tasks: DamagedRows['tasks'][number][];
};

/** Undefined if the job does not exist. Throws `corrupt` if its metadata or head is damaged. */
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
  const handle = { jobNo, tags: new TagDictionary() };
  await readTags(storage, handle);
  const tasks = await readTasks(storage, handle, damage);
  const cells = await readCells(storage, handle, damage);
  return { row, head, tasks, cells, handle, damage };
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
      const { version, revision, status, progress } = decodeCell(key, value, false);
      cells.push({ taskId, tag, version, revision, status, progress });
    },
    damaged: (key, error) => {
      const { tagNo, taskId } = cellOfKey(key);
      damage.cells.push({ taskId, tag: tags.nameOf(tagNo), error });
    },
  });
  return cells;
}
