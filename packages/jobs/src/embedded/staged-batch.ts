// What one commit changes: the staged jobs, as rows of one storage batch.
//
// Rows are encoded when the batch is complete: a head or a cell that many writes of it have changed is written
// once.
//
// It pins each of its jobs until it has ended. Who asked may have given up by then, and a job that left memory
// meanwhile would come back as it was before the batch.
import { type Durability, StorageBatch, type StorageEntry } from '@syncline/kernel';
import { encodeChange } from './change-codec.js';
import {
  bufferedKey,
  cellKey,
  deletedKey,
  headKey,
  jobKey,
  logKey,
  storeKey,
  tagKey,
  taskKey,
} from './keys.js';
import type { LoadedJob } from './loaded-job.js';
import {
  encodeCell,
  encodeHead,
  encodeJobRow,
  encodeStoreRow,
  encodeTag,
  encodeTask,
  type StoredJobRow,
  type StoreRow,
} from './row-codec.js';
import { RowWriter } from './row-writer.js';
import type { StagedJob } from './staged-job.js';

/** A job that cannot be loaded and goes, as far as it is known. */
export interface DamagedJob {
  readonly jobId: string;
  /** Undefined: its metadata is damaged, and with it the number under which its rows lie. */
  readonly stored: StoredJobRow | undefined;
}

/** Memory that is used again for each batch of a store. */
export class BatchMemory {
  readonly writer = new RowWriter();
  readonly batch = new StorageBatch();
}

export class StagedBatch {
  /** In the order in which they were touched: a job that is deleted and created again is there twice. */
  readonly jobs: StagedJob[] = [];
  readonly #byJobId = new Map<string, StagedJob>();
  readonly damagedJobs: DamagedJob[] = [];
  /** Further keys that go: rows of jobs that were deleted earlier. */
  readonly removedKeys: Uint8Array[] = [];
  readonly #rewritten: StorageEntry[] = [];
  #rewrittenBytes = 0;
  storeRow: StoreRow | undefined;
  /** Set before the first buffered write of a store is acknowledged, cleared when all of them are secured. */
  bufferedMark: 'set' | 'clear' | undefined;
  #durability: Durability = 'buffered';

  get durability(): Durability {
    return this.#durability;
  }

  /** The whole batch becomes as durable as the most careful write in it asks. */
  requireSynced(): void {
    this.#durability = 'synced';
  }

  get rewrittenBytes(): number {
    return this.#rewrittenBytes;
  }

  /** A record is written once more as it is, so that it is as durable as this batch. */
  rewrite(entry: StorageEntry): void {
    this.#rewritten.push(entry);
    this.#rewrittenBytes += entry.key.length + entry.value.length;
  }

  find(jobId: string): StagedJob | undefined {
    return this.#byJobId.get(jobId);
  }

  add(jobId: string, staged: StagedJob): StagedJob {
    staged.job.pins += 1;
    this.jobs.push(staged);
    this.#byJobId.set(jobId, staged);
    return staged;
  }

  /** It is stored, or it has failed: its jobs may leave memory. */
  end(): void {
    for (const { job } of this.jobs) job.pins -= 1;
  }

  /** Fills the batch. An empty one needs no write. */
  encode({ batch, writer }: BatchMemory): StorageBatch {
    batch.clear();
    for (const staged of this.jobs) {
      if (staged.isDeleted) encodeDeleted(batch, staged.row.jobId, staged.job.jobNo);
      else this.#encodeStaged(batch, writer, staged);
    }
    for (const { jobId, stored } of this.damagedJobs) encodeDeleted(batch, jobId, stored?.jobNo);
    for (const { key, value } of this.#rewritten) batch.put(key, value);
    for (const key of this.removedKeys) batch.delete(key);
    if (this.storeRow) batch.put(storeKey, encodeStoreRow(writer, storeKey, this.storeRow));
    if (this.bufferedMark === 'set') batch.put(bufferedKey, Uint8Array.of(1));
    if (this.bufferedMark === 'clear') batch.delete(bufferedKey);
    return batch;
  }

  #encodeStaged(batch: StorageBatch, writer: RowWriter, staged: StagedJob): void {
    const { job, head } = staged;
    const { jobNo } = job;
    if (staged.isRowChanged) {
      const key = jobKey(staged.row.jobId);
      batch.put(key, encodeJobRow(writer, key, { jobNo, row: staged.row }));
    }
    for (const [tag, tagNo] of staged.newTags) {
      const key = tagKey(jobNo, tagNo);
      batch.put(key, encodeTag(writer, key, tag));
    }
    for (const cell of staged.cells.values()) {
      const key = cellKey(jobNo, cell.tagNo, cell.taskId);
      const isBuffered = cell.isBuffered && this.#durability === 'buffered';
      batch.put(key, encodeCell(writer, key, { row: cell.row, isBuffered }));
    }
    for (const task of staged.tasks.values()) {
      const key = taskKey(jobNo, task.taskId);
      batch.put(key, encodeTask(writer, key, task));
    }
    encodeRecords(batch, writer, staged);
    if (hasMoved(head, job)) {
      const key = headKey(jobNo);
      batch.put(key, encodeHead(writer, key, head));
    }
  }
}

/** One that was created in this same batch has rows too; they go with the others. */
function encodeDeleted(batch: StorageBatch, jobId: string, jobNo: number | undefined): void {
  batch.delete(jobKey(jobId));
  if (jobNo !== undefined) batch.put(deletedKey(jobNo), Uint8Array.of());
}

function encodeRecords(batch: StorageBatch, writer: RowWriter, staged: StagedJob): void {
  const { jobNo } = staged.job;
  const bytesBefore = batch.bytes;
  for (const change of staged.changes) {
    const key = logKey(jobNo, change.revision);
    const tagNo = change.kind === 'state' ? (staged.tagNoOf(change.state.tag) ?? 0) : 0;
    batch.put(key, encodeChange(writer, key, change, tagNo));
  }
  staged.recordBytes = batch.bytes - bytesBefore;
  for (const revision of staged.removedRevisions) batch.delete(logKey(jobNo, revision));
}

function hasMoved(head: StagedJob['head'], job: LoadedJob): boolean {
  return head.revision !== job.head.revision || head.compactedTo !== job.head.compactedTo;
}
