// The adapter that keeps jobs in a Storage of this process: what a server runs by default.
//
// The log is the only copy of a state; the row of a cell names the revision of its latest record. Where things lie:
// keys.ts. The number of a tag must not be given twice, so the first write of a tag is synced; so is the mark that
// there are buffered writes, before the first of them is acknowledged.
import {
  type Clock,
  type Logger,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import { otherJobRefusal } from '../core/refusals.js';
import type {
  CellRef,
  Commit,
  CommitRequest,
  CommitRows,
  JobCommit,
  JobRows,
  ListedJob,
  MirroredJob,
  StoreAdapter,
  StoreStart,
  StoreView,
} from '../engine/store-adapter.js';
import type { StoreCapabilities } from '../job-store.js';
import { encode } from '../wire/proto-message.js';
import { Deletions } from './deletions.js';
import { readStart } from './embedded-start.js';
import { EmbeddedView } from './embedded-view.js';
import {
  bufferedKey,
  cellKey,
  deletedKey,
  headKey,
  jobIdOfKey,
  jobKey,
  jobsRange,
  logKey,
  storeKey,
  tagKey,
  taskKey,
} from './keys.js';
import { type EmbeddedHandle, loadRows, newHandle } from './load-rows.js';
import { isCorrupt, readBatches } from './read-rows.js';
import {
  corruptRow,
  decodeCell,
  decodeJobRow,
  decodeRecord,
  decodeRow,
  encodeCell,
  encodeJobRow,
  headRow,
  RECORD_HEAD_BYTES,
  type StoredCell,
  type StoredJobRow,
  type StoreRow,
  storeRow,
  tagRow,
  taskRow,
  writeRecord,
} from './rows.js';

type Job = MirroredJob<EmbeddedHandle>;

export interface EmbeddedAdapterDeps {
  /** It belongs to the job store while that is open, and stays open when that is closed. */
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Prefixes with other characters match no job id. */
const JOB_ID_PART = /^[\x21-\x7e]*$/;

export class EmbeddedAdapter implements StoreAdapter<EmbeddedHandle> {
  readonly capabilities: StoreCapabilities = {
    history: 'all',
    reads: 'linearizable',
    durability: 'synced',
    lost: 'store',
  };
  readonly compacts = true;
  readonly #deps: EmbeddedAdapterDeps;
  readonly #batch = new StorageBatch();
  readonly #deletions: Deletions;
  #row: StoreRow = { nextJobNo: 1, generation: 0 };
  #jobsCount = 0;
  #hasBufferedMark = false;

  constructor(deps: EmbeddedAdapterDeps, keysMax: number) {
    this.#deps = deps;
    this.#deletions = new Deletions(deps, keysMax);
  }

  async start(): Promise<StoreStart> {
    const { storage, logger } = this.#deps;
    const start = await readStart(storage);
    this.#row = start.row;
    this.#jobsCount = start.jobsCount;
    this.#hasBufferedMark = start.hasBufferedMark;
    for (const jobNo of start.deletedJobNos) this.#deletions.add(jobNo);
    const { generation } = start.row;
    if (start.hasBufferedMark)
      logger.warn('🟡 buffered writes of jobs may be lost: cursors reset', { generation });
    return { ...start, generation };
  }

  whenReadable(): Promise<void> | undefined {
    const { storage } = this.#deps;
    return storage.health().kind === 'reopening' ? storage.whenReadable() : undefined;
  }

  async loadJob(jobId: string): Promise<JobRows<EmbeddedHandle> | undefined> {
    const rows = await loadRows(this.#deps.storage, jobId);
    return rows && this.#isCommitted(rows.handle.jobNo) ? rows : undefined;
  }

  async commit(
    _: readonly CommitRequest[],
    decide: (rows: CommitRows<EmbeddedHandle>) => Commit<EmbeddedHandle> | undefined,
  ): Promise<void> {
    const { storage } = this.#deps;
    const commit = decide({
      jobsCount: this.#jobsCount,
      cell: (job, taskId, tag) => this.#cell(job.handle, taskId, tag).cell.row,
      state: (job, taskId, tag) => {
        const revision = job.latestRevision('state', taskId, tag);
        return this.#record(job.handle, revision) ?? missing(job.handle, revision);
      },
    });
    if (!commit) return;
    const batch = this.#batch;
    batch.clear();
    let { nextJobNo } = this.#row;
    let isSynced = commit.durability === 'synced';
    const marksBuffered =
      !this.#hasBufferedMark &&
      commit.jobs.some(({ cells }) => cells.some(({ isBuffered }) => isBuffered));
    for (const job of commit.jobs) {
      if (job.kind === 'create') {
        job.handle = newHandle(nextJobNo);
        nextJobNo += 1;
      }
      if (job.cells.some(({ tag }) => job.handle?.tags.numberOf(tag) === undefined))
        isSynced = true;
    }
    isSynced ||= marksBuffered;
    const row = { ...this.#row, nextJobNo };
    const newTags = commit.jobs.map((job) => this.#encodeJob(job, isSynced));
    if (nextJobNo !== this.#row.nextJobNo) batch.put(storeKey, encode(storeRow, row));
    if (marksBuffered) batch.put(bufferedKey, Uint8Array.of(1));
    await storage.write(batch, { durability: isSynced ? 'synced' : 'buffered' });
    this.#row = row;
    this.#hasBufferedMark ||= marksBuffered;
    for (const [at, { kind, handle }] of commit.jobs.entries()) {
      for (const [tag, tagNo] of newTags[at] ?? []) handle?.tags.set(tagNo, tag);
      if (kind === 'create') this.#jobsCount += 1;
      if (kind === 'delete' && handle) this.#deleted(handle.jobNo);
    }
  }

  readStates({ handle }: Job, cells: readonly CellRef[]): readonly (Uint8Array | undefined)[] {
    return cells.map(({ revision }) => this.#record(handle, revision));
  }

  openView(job: Job): StoreView {
    const { storage, clock } = this.#deps;
    return new EmbeddedView({ job, snapshot: storage.snapshot(), clock });
  }

  async *listJobs({
    prefix,
    after,
  }: {
    readonly prefix: string;
    readonly after: string;
  }): AsyncGenerator<readonly ListedJob[]> {
    if (!JOB_ID_PART.test(prefix)) return;
    let page: ListedJob[] = [];
    const damaged = async (key: Uint8Array) => void page.push({ damagedJobId: jobIdOfKey(key) });
    const range = jobsRange(prefix, after);
    for await (const entries of readBatches(this.#deps.storage, range, damaged)) {
      if (page.length > 0) yield page;
      page = [];
      for (const { key, value } of entries) page.push(...this.#listed(key, value));
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  async deleteDamaged(jobId: string, incarnation: string | undefined) {
    const { storage, logger } = this.#deps;
    const key = jobKey(jobId);
    let stored: StoredJobRow | undefined;
    try {
      const bytes = storage.get(key);
      if (!bytes) return undefined;
      stored = decodeJobRow(key, bytes, jobId);
    } catch (thrown) {
      // A caller that means one incarnation must not delete another, and nobody can tell which this is.
      if (!isCorrupt(thrown) || incarnation !== undefined) throw thrown;
    }
    const refusal = stored && otherJobRefusal(stored.row, incarnation);
    if (refusal) throw refusal;
    const batch = new StorageBatch().delete(key);
    if (stored) batch.put(deletedKey(stored.jobNo), Uint8Array.of());
    else logger.warn('🟡 rows of a deleted job stay: its number could not be read', { jobId });
    await storage.write(batch, { durability: 'synced' });
    if (stored) this.#deleted(stored.jobNo);
    else this.#jobsCount -= 1;
    return { incarnation: stored?.row.incarnation };
  }

  status() {
    return { storage: this.#deps.storage.health(), deletions: this.#deletions.pendingCount };
  }

  /** Secures buffered writes. Without that the next start takes some of them for lost, as after a crash. */
  async close(): Promise<void> {
    const { storage, logger } = this.#deps;
    await this.#deletions.stop();
    if (!this.#hasBufferedMark) return;
    try {
      await storage.secure();
      await storage.write(new StorageBatch().delete(bufferedKey), { durability: 'synced' });
    } catch (thrown) {
      const { code } = SynclineError.from(thrown, 'storage-failed');
      logger.warn('🟡 cursors of jobs will reset at the next start', { error: code });
    }
  }

  #deleted(jobNo: number): void {
    this.#jobsCount -= 1;
    this.#deletions.add(jobNo);
  }

  /** False: its creation is in flight. The storage may show it already. */
  #isCommitted(jobNo: number): boolean {
    return jobNo < this.#row.nextJobNo;
  }

  #encodeJob(job: JobCommit<EmbeddedHandle>, isSynced: boolean): ReadonlyMap<string, number> {
    const batch = this.#batch;
    const { row, head } = job;
    const handle = job.handle as EmbeddedHandle;
    const { jobNo, tags } = handle;
    const newTags = new Map<string, number>();
    if (job.kind === 'delete') {
      batch.delete(jobKey(row.jobId));
      batch.put(deletedKey(jobNo), Uint8Array.of());
      return newTags;
    }
    if (job.isRowChanged) batch.put(jobKey(row.jobId), encodeJobRow({ jobNo, row }));
    for (const { taskId, tag, row: cell, isBuffered } of job.cells) {
      let tagNo = tags.numberOf(tag) ?? newTags.get(tag);
      if (tagNo === undefined) {
        tagNo = tags.nextNumber + newTags.size;
        newTags.set(tag, tagNo);
        batch.put(tagKey(jobNo, tagNo), encode(tagRow, { tag }));
      }
      const stored = { row: cell, isBuffered: isBuffered && !isSynced };
      batch.put(cellKey(jobNo, tagNo, taskId), encodeCell(stored));
    }
    for (const task of job.tasks) batch.put(taskKey(jobNo, task.taskId), encode(taskRow, task));
    for (const change of job.changes) {
      const key = logKey(jobNo, change.revision);
      const at = batch.reservePut(key.length, RECORD_HEAD_BYTES + change.bytes.length);
      batch.content.set(key, at);
      writeRecord(batch.content, at + key.length, change);
    }
    this.#encodeRemoved(job, handle);
    batch.put(headKey(jobNo), encode(headRow, head));
    return newTags;
  }

  /** What replaced a change must survive as surely as the change will be gone: it is written once more. */
  #encodeRemoved({ removed, cells }: JobCommit<EmbeddedHandle>, handle: EmbeddedHandle): void {
    if (removed.length === 0) return;
    const written = new Set(cells.map(({ taskId, tag }) => `${taskId} ${tag}`));
    for (const { kind, revision, taskId, tag } of removed) {
      this.#batch.delete(logKey(handle.jobNo, revision));
      if (kind !== 'state' || !this.#hasBufferedMark || written.has(`${taskId} ${tag}`)) continue;
      const { key, cell } = this.#cell(handle, taskId, tag);
      if (!cell.isBuffered) continue;
      const recordKey = logKey(handle.jobNo, cell.row.revision);
      const record = this.#deps.storage.get(recordKey);
      if (!record) throw corruptRow(recordKey);
      this.#batch.put(recordKey, record);
      this.#batch.put(key, encodeCell({ ...cell, isBuffered: false }));
      written.add(`${taskId} ${tag}`);
    }
  }

  #cell(
    { jobNo, tags }: EmbeddedHandle,
    taskId: number,
    tag: string,
  ): { key: Uint8Array; cell: StoredCell } {
    const key = cellKey(jobNo, tags.numberOf(tag) ?? 0, taskId);
    const bytes = this.#deps.storage.get(key);
    if (!bytes) throw corruptRow(key);
    return { key, cell: decodeCell(key, bytes) };
  }

  /** The State message of a record; undefined if the record is not there. */
  #record({ jobNo }: EmbeddedHandle, revision: number): Uint8Array | undefined {
    const key = logKey(jobNo, revision);
    const bytes = this.#deps.storage.get(key);
    return bytes && decodeRecord(key, bytes).bytes;
  }

  /** Empty: the job was deleted while the list was read, or its creation is in flight (J4). */
  #listed(key: Uint8Array, value: Uint8Array): readonly ListedJob[] {
    const { storage } = this.#deps;
    const jobId = jobIdOfKey(key);
    try {
      const { jobNo, row } = decodeJobRow(key, value, jobId);
      if (!this.#isCommitted(jobNo)) return [];
      const bytes = storage.get(headKey(jobNo));
      if (bytes) return [{ row, head: decodeRow(headRow, headKey(jobNo), bytes) }];
      return storage.get(key) ? [{ damagedJobId: jobId }] : [];
    } catch (thrown) {
      if (!isCorrupt(thrown)) throw thrown;
      return [{ damagedJobId: jobId }];
    }
  }
}

function missing({ jobNo }: EmbeddedHandle, revision: number): never {
  throw corruptRow(logKey(jobNo, revision));
}
