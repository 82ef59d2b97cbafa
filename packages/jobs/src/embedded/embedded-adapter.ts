// The adapter that keeps jobs in a Storage in this process: a server's default.
//
// The log is the only copy of a state; a cell's row holds the revision of its latest record. See rows.ts for the
// layout. Tag numbers must not be reused, so the first write of a tag is synced. So is the mark that there are buffered
// writes, before the first of them is acknowledged.
import {
  type Clock,
  type Logger,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import { encode } from '@syncline/kernel/wire';
import { checkIncarnationOf } from '../core/refusals.js';
import { cellName } from '../engine/cell-counts.js';
import type { JobFilter } from '../engine/changes.js';
import { type EngineJobStore, type EngineOptions, openJobStore } from '../engine/job-engine.js';
import type {
  CellRef,
  CommitRequest,
  Decide,
  EngineDeps,
  JobCommit,
  JobRange,
  JobRows,
  ListedJob,
  MirroredJob,
  StoreAdapter,
  StoreStart,
  StoreView,
} from '../engine/store-adapter.js';
import type { StoreCapabilities } from '../job-store.js';
import { ALL_CAPABILITIES } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import { Deletions, readStart } from './embedded-start.js';
import { EmbeddedView } from './embedded-view.js';
import {
  type EmbeddedHandle,
  isCorrupt,
  loadRows,
  type ReadRow,
  readBatches,
  TagDictionary,
} from './load-rows.js';
import {
  bufferedKey,
  cellKey,
  corruptRow,
  decodeCell,
  decodeJobRow,
  decodeRecord,
  decodeRow,
  deletedKey,
  encodeCell,
  encodeJobRow,
  headKey,
  headRow,
  jobIdOfKey,
  jobKey,
  jobsRange,
  logKey,
  RECORD_HEAD_BYTES,
  type StoredJobRow,
  type StoreRow,
  storeKey,
  storeRow,
  tagKey,
  tagRow,
  taskKey,
  taskRow,
  writeRecord,
} from './rows.js';

type Job = MirroredJob<EmbeddedHandle>;

export interface EmbeddedAdapterDeps {
  /** The job store has exclusive use of it while open, and does not close it. */
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A prefix with any other character matches no job id. */
const JOB_ID_PART = /^[\x21-\x7e]*$/;

export class EmbeddedAdapter implements StoreAdapter<EmbeddedHandle> {
  readonly capabilities: StoreCapabilities = ALL_CAPABILITIES;
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
      logger.warn('🟡 buffered job writes may be lost: cursors reset', { generation });
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

  async commit(_: readonly CommitRequest[], decide: Decide<EmbeddedHandle>): Promise<void> {
    const { storage } = this.#deps;
    const commit = decide({
      jobsCount: this.#jobsCount,
      cell: (job, taskId, tag) => this.#cell(job.handle, taskId, tag).row,
      state: (job, taskId, tag) => {
        const revision = job.latestRevision('state', taskId, tag);
        return this.#record(job.handle, revision) ?? missing(logKey(job.handle.jobNo, revision));
      },
    });
    if (!commit) return;
    const batch = this.#batch;
    batch.clear();
    let { nextJobNo } = this.#row;
    let isSynced = commit.durability === 'synced';
    const newTags: ReadonlyMap<string, number>[] = [];
    for (const job of commit.jobs) {
      if (job.kind === 'create') {
        job.handle = { jobNo: nextJobNo, tags: new TagDictionary() };
        nextJobNo += 1;
      }
      const tags = this.#encodeJob(job);
      newTags.push(tags);
      if (tags.size > 0) isSynced = true;
    }
    const row = { ...this.#row, nextJobNo };
    const marksBuffered = commit.durability === 'buffered' && !this.#hasBufferedMark;
    isSynced ||= marksBuffered;
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

  openView(job: Job, filter: JobFilter): StoreView {
    const { storage, clock } = this.#deps;
    return new EmbeddedView({ job, filter, snapshot: storage.snapshot(), clock });
  }

  async *listJobs({ prefix, after }: JobRange): AsyncGenerator<readonly ListedJob[]> {
    if (!JOB_ID_PART.test(prefix)) return;
    for await (const rows of readBatches(this.#deps.storage, jobsRange(prefix, after)))
      yield rows.flatMap(({ key, value }) => this.#listed(key, value));
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
      // The caller named an incarnation, and the one stored here is unknown: it may be another.
      if (!isCorrupt(thrown) || incarnation !== undefined) throw thrown;
    }
    if (stored) checkIncarnationOf(stored.row, incarnation);
    const batch = new StorageBatch().delete(key);
    if (stored) batch.put(deletedKey(stored.jobNo), Uint8Array.of());
    else logger.warn('🟡 rows of a deleted job remain: its number could not be read', { jobId });
    await storage.write(batch, { durability: 'synced' });
    if (stored) this.#deleted(stored.jobNo);
    else this.#jobsCount -= 1;
    return { incarnation: stored?.row.incarnation };
  }

  status() {
    return { storage: this.#deps.storage.health(), deletions: this.#deletions.pendingCount };
  }

  /** Makes buffered writes durable. Otherwise the next start assumes that some were lost, as after a crash. */
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

  /** False while the job's creation is in flight: the storage may show it already. */
  #isCommitted(jobNo: number): boolean {
    return jobNo < this.#row.nextJobNo;
  }

  #encodeJob(job: JobCommit<EmbeddedHandle>): ReadonlyMap<string, number> {
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
    for (const { taskId, tag, row: cell } of job.cells.values()) {
      let tagNo = tags.numberOf(tag) ?? newTags.get(tag);
      if (tagNo === undefined) {
        tagNo = tags.nextNumber + newTags.size;
        newTags.set(tag, tagNo);
        batch.put(tagKey(jobNo, tagNo), encode(tagRow, { tag }));
      }
      batch.put(cellKey(jobNo, tagNo, taskId), encodeCell(cell));
    }
    for (const [taskId, task] of job.tasks)
      batch.put(taskKey(jobNo, taskId), encode(taskRow, task));
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

  /**
   * The replacement of a removed change must be as durable as the removal. If it may be only buffered, it is written
   * again.
   */
  #encodeRemoved({ removed, cells }: JobCommit<EmbeddedHandle>, handle: EmbeddedHandle): void {
    const batch = this.#batch;
    const written = new Set(cells.keys());
    for (const { kind, revision, taskId, tag } of removed) {
      batch.delete(logKey(handle.jobNo, revision));
      if (!this.#hasBufferedMark || kind !== 'state' || written.has(cellName(taskId, tag)))
        continue;
      written.add(cellName(taskId, tag));
      const { key, bytes, row } = this.#cell(handle, taskId, tag);
      const recordKey = logKey(handle.jobNo, row.revision);
      batch.put(key, bytes);
      batch.put(recordKey, this.#deps.storage.get(recordKey) ?? missing(recordKey));
    }
  }

  #cell({ jobNo, tags }: EmbeddedHandle, taskId: number, tag: string) {
    const key = cellKey(jobNo, tags.numberOf(tag) ?? tags.nextNumber, taskId);
    const bytes = this.#deps.storage.get(key) ?? missing(key);
    return { key, bytes, row: decodeCell(key, bytes) };
  }

  /** The State message of a record; undefined if there is no such record. */
  #record({ jobNo }: EmbeddedHandle, revision: number): Uint8Array | undefined {
    const key = logKey(jobNo, revision);
    const bytes = this.#deps.storage.get(key);
    return bytes && decodeRecord(key, bytes).bytes;
  }

  /** Empty if the job was deleted while the list was read, or its creation is in flight (J4). */
  #listed(key: Uint8Array, value: ReadRow['value']): readonly ListedJob[] {
    const { storage } = this.#deps;
    const jobId = jobIdOfKey(key);
    try {
      if (value instanceof SynclineError) throw value;
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

function missing(key: Uint8Array): never {
  throw corruptRow(key);
}

export type EmbeddedJobStoreDeps = EngineDeps & EmbeddedAdapterDeps;
export type EmbeddedJobStoreOptions = EngineOptions;

/** Opens a job store in the given Storage. The caller owns the storage: close the job store first, then the storage. */
export async function openEmbeddedJobStore(
  deps: EmbeddedJobStoreDeps,
  options: EmbeddedJobStoreOptions = {},
): Promise<EngineJobStore> {
  const keysMax = options.compactionKeysMax ?? jobsLimits.compactionKeysMax.value;
  return openJobStore(new EmbeddedAdapter(deps, keysMax), deps, options);
}
