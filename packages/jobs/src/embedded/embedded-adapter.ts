// The adapter that keeps jobs in a Storage in this process: a server's default.
//
// The log is the only copy of a state; a cell's row holds the revision of its latest record. See rows.ts for the
// layout. Tag numbers must not be reused, so the first write of a tag is synced. So is the mark that there are buffered
// writes, before the first of them is acknowledged.
import { createMemoryStorage, type Storage, StorageBatch, SynclineError } from '@syncline/kernel';
import { encode } from '@syncline/kernel/wire';
import { checkIncarnationOf, hasCode } from '../core/refusals.js';
import { cellName } from '../engine/cell-counts.js';
import type { JobFilter } from '../engine/changes.js';
import { EngineJobStore, type EngineOptions, openJobStore } from '../engine/job-engine.js';
import * as port from '../engine/store-adapter.js';
import { ALL_CAPABILITIES, type JobStore, type StoreCapabilities } from '../job-store.js';
import { limitValues } from '../limits.js';
import { embeddedView } from './embedded-view.js';
import * as load from './load-rows.js';
import * as rows from './rows.js';

type Handle = load.EmbeddedHandle;
type Job = port.MirroredJob<Handle>;

export class EmbeddedAdapter implements port.StoreAdapter<Handle> {
  readonly capabilities: StoreCapabilities;
  readonly #deps: EmbeddedJobStoreDeps;
  readonly #batch = new StorageBatch();
  readonly #deletions: Deletions;
  #row: rows.StoreRow = { nextJobNo: 1, generation: 0 };
  #hasBufferedMark = false;
  /** There are buffered writes that no one has made durable since. */
  #hasUnsecured = false;

  constructor(deps: EmbeddedJobStoreDeps, keysMax: number, capabilities = ALL_CAPABILITIES) {
    this.#deps = deps;
    this.capabilities = capabilities;
    this.#deletions = createDeletions(deps, keysMax);
  }

  async start(): Promise<port.StoreStart> {
    const { storage, logger } = this.#deps;
    const start = await load.readStart(storage);
    this.#row = start.row;
    this.#hasBufferedMark = start.hasBufferedMark;
    this.#hasUnsecured = start.hasBufferedMark;
    for (const jobNo of start.deletedJobNos) this.#deletions.add(jobNo);
    const { generation } = start.row;
    if (start.hasBufferedMark)
      logger.warn('🟡 buffered job writes may be lost: cursors reset', { generation });
    return { ...start, generation };
  }

  async loadJob(jobId: string): Promise<port.JobRows<Handle> | undefined> {
    const { storage } = this.#deps;
    for (;;) {
      await storage.whenReadable();
      try {
        const job = await load.loadRows(storage, jobId);
        return job && this.#isCommitted(job.handle.jobNo) ? job : undefined;
      } catch (thrown) {
        if (!hasCode(thrown, 'unavailable')) throw thrown; // reopened in the meantime
      }
    }
  }

  async commit(_: readonly port.CommitRequest[], decide: port.Decide<Handle>): Promise<void> {
    const { storage } = this.#deps;
    if (storage.health().kind !== 'ok') await storage.whenReadable();
    const commit = decide({
      cell: (job, taskId, tag) => this.#cell(job.handle, taskId, tag).row,
      state: (job, taskId, tag) => {
        const { handle } = job;
        const revision = job.latestRevision('state', taskId, tag);
        return this.#record(handle, revision) ?? missing(rows.logKey(handle.jobNo, revision));
      },
    });
    if (!commit) return;
    if (commit.securesEarlier && this.#hasUnsecured) {
      await storage.secure();
      this.#hasUnsecured = false;
    }
    const batch = this.#batch;
    batch.clear();
    let { nextJobNo } = this.#row;
    let isSynced = commit.durability === 'synced';
    for (const job of commit.jobs) {
      const handle = job.handle ?? { jobNo: nextJobNo, tags: [] };
      if (!job.handle) nextJobNo += 1;
      job.handle = this.#encodeJob(job, handle);
      isSynced ||= job.handle !== handle;
    }
    const row = { ...this.#row, nextJobNo };
    const marksBuffered = commit.durability === 'buffered' && !this.#hasBufferedMark;
    isSynced ||= marksBuffered;
    if (nextJobNo !== this.#row.nextJobNo) batch.put(rows.storeKey, encode(rows.storeRow, row));
    if (marksBuffered) batch.put(rows.bufferedKey, Uint8Array.of(1));
    await storage.write(batch, { durability: isSynced ? 'synced' : 'buffered' });
    this.#row = row;
    this.#hasBufferedMark ||= marksBuffered;
    this.#hasUnsecured ||= !isSynced;
    for (const { kind, handle } of commit.jobs)
      if (kind === 'delete' && handle) this.#deletions.add(handle.jobNo);
  }

  readStates({ handle }: Job, cells: readonly port.CellRef[]) {
    return this.#read(() => cells.map(({ revision }) => this.#record(handle, revision)));
  }

  openView(job: Job, filter: JobFilter) {
    const { storage, clock } = this.#deps;
    return this.#read(() => embeddedView(job, filter, storage.snapshot(), clock));
  }

  async *listJobs({ prefix, after }: port.JobRange): AsyncGenerator<readonly port.ListedJob[]> {
    for await (const page of load.readBatches(this.#deps.storage, rows.jobsRange(prefix, after)))
      yield page.flatMap((listed) => this.#listed(listed));
  }

  async deleteDamaged(jobId: string, incarnation: string | undefined) {
    const { storage, logger } = this.#deps;
    const key = rows.jobKey(jobId);
    let stored: rows.StoredJobRow | undefined;
    try {
      const bytes = storage.get(key);
      if (!bytes) return undefined;
      stored = rows.decodeJobRow(key, bytes);
    } catch (thrown) {
      // The caller named an incarnation, and the one stored here is unknown: it may be another.
      if (!hasCode(thrown, 'corrupt') || incarnation !== undefined) throw thrown;
    }
    if (stored) checkIncarnationOf(stored.row, incarnation);
    const batch = new StorageBatch().delete(key);
    if (stored) batch.put(rows.deletedKey(stored.jobNo), Uint8Array.of());
    else logger.warn('🟡 rows of a deleted job remain: its number could not be read', { jobId });
    await storage.write(batch, { durability: 'synced' });
    if (stored) this.#deletions.add(stored.jobNo);
    return { incarnation: stored?.row.incarnation };
  }

  status() {
    return { storage: this.#deps.storage.health(), deletions: this.#deletions.pendingCount() };
  }

  /** Makes buffered writes durable. Otherwise the next start assumes that some were lost, as after a crash. */
  async close(): Promise<void> {
    const { storage, logger } = this.#deps;
    await this.#deletions.stop();
    if (!this.#hasBufferedMark) return;
    try {
      await storage.secure();
      await storage.write(new StorageBatch().delete(rows.bufferedKey), { durability: 'synced' });
    } catch (thrown) {
      const { code } = SynclineError.from(thrown, 'storage-failed');
      logger.warn('🟡 cursors of jobs will reset at the next start', { error: code });
    }
  }

  /** Reads at once, unless the storage is being reopened. */
  #read<T>(read: () => T): T | Promise<T> {
    const { storage } = this.#deps;
    return storage.health().kind === 'ok' ? read() : storage.whenReadable().then(read);
  }

  /** False while the job's creation is in flight: the storage may show it already. */
  #isCommitted(jobNo: number): boolean {
    return jobNo < this.#row.nextJobNo;
  }

  /** Returns the handle, or another one if there are new tags. */
  #encodeJob(job: port.JobCommit<Handle>, known: Handle): Handle {
    const batch = this.#batch;
    const { row, head } = job;
    const { jobNo } = known;
    let handle = known;
    if (job.kind === 'delete') {
      batch.delete(rows.jobKey(row.jobId));
      batch.put(rows.deletedKey(jobNo), Uint8Array.of());
      return handle;
    }
    if (job.isRowChanged) batch.put(rows.jobKey(row.jobId), encode(rows.jobRow, { ...row, jobNo }));
    for (const { taskId, tag, row: cell } of job.cells.values()) {
      const tagNo = load.tagNoOf(handle, tag);
      if (tagNo === handle.tags.length) {
        handle = { jobNo, tags: [...handle.tags, tag] };
        batch.put(rows.tagKey(jobNo, tagNo), encode(rows.tagRow, { tag }));
      }
      batch.put(rows.cellKey(jobNo, tagNo, taskId), rows.encodeCell(cell));
    }
    for (const [taskId, task] of job.tasks)
      batch.put(rows.taskKey(jobNo, taskId), encode(rows.taskRow, task));
    for (const change of job.changes) {
      const key = rows.logKey(jobNo, change.revision);
      const at = batch.reservePut(key.length, rows.RECORD_HEAD_BYTES + change.bytes.length);
      batch.content.set(key, at);
      rows.writeRecord(batch.content, at + key.length, change);
    }
    this.#encodeRemoved(job, handle);
    batch.put(rows.headKey(jobNo), encode(rows.headRow, head));
    return handle;
  }

  /** The replacement of a removed change must be as durable as the removal. If it may be only buffered, it is repeated. */
  #encodeRemoved({ removed, cells }: port.JobCommit<Handle>, handle: Handle): void {
    const batch = this.#batch;
    const written = new Set(cells.keys());
    for (const { kind, revision, taskId, tag } of removed) {
      batch.delete(rows.logKey(handle.jobNo, revision));
      if (!this.#hasBufferedMark || kind !== 'state' || written.has(cellName(taskId, tag)))
        continue;
      written.add(cellName(taskId, tag));
      const { key, bytes, row } = this.#cell(handle, taskId, tag);
      const recordKey = rows.logKey(handle.jobNo, row.revision);
      batch.put(key, bytes);
      batch.put(recordKey, this.#deps.storage.get(recordKey) ?? missing(recordKey));
    }
  }

  #cell(handle: Handle, taskId: number, tag: string) {
    const key = rows.cellKey(handle.jobNo, load.tagNoOf(handle, tag), taskId);
    const bytes = this.#deps.storage.get(key) ?? missing(key);
    return { key, bytes, row: rows.decodeCell(key, bytes) };
  }

  /** The State message of a record; undefined if there is no such record. */
  #record({ jobNo }: Handle, revision: number): Uint8Array | undefined {
    const key = rows.logKey(jobNo, revision);
    const bytes = this.#deps.storage.get(key);
    return bytes && rows.decodeRecord(key, bytes).bytes;
  }

  /** Empty if the job was deleted while the list was read, or its creation is in flight (J4). */
  #listed(listed: load.ReadRow): readonly port.ListedJob[] {
    const { storage } = this.#deps;
    const jobs = load.decodeOrError(listed, (key, value) => {
      const { jobNo, row } = rows.decodeJobRow(key, value);
      if (!this.#isCommitted(jobNo)) return [];
      const head = rows.readRow(storage, rows.headRow, rows.headKey(jobNo));
      if (!head && storage.get(key)) throw rows.corruptRow(rows.headKey(jobNo));
      return head ? [{ row, head }] : [];
    });
    if (jobs instanceof SynclineError) return [{ damagedJobId: rows.jobIdOfKey(listed.key) }];
    return jobs;
  }
}

function missing(key: Uint8Array): never {
  throw rows.corruptRow(key);
}

export interface EmbeddedJobStoreDeps extends port.EngineDeps {
  /** The job store has exclusive use of it while open, and does not close it. */
  readonly storage: Storage;
}

export type EmbeddedJobStoreOptions = EngineOptions;

/** Opens a job store in the given Storage. The caller owns the storage: close the job store first, then the storage. */
export async function openEmbeddedJobStore(
  deps: EmbeddedJobStoreDeps,
  options: EmbeddedJobStoreOptions = {},
): Promise<EngineJobStore> {
  const keysMax = options.compactionKeysMax ?? limitValues.compactionKeysMax;
  return openJobStore(new EmbeddedAdapter(deps, keysMax), deps, options);
}

export type MemoryJobStoreDeps = port.EngineDeps;

/** For tests, for `--memory`, and for programs that need no persistence: the embedded store on a storage in memory. */
export function createMemoryJobStore(deps: Partial<MemoryJobStoreDeps> = {}): JobStore {
  const all = port.withSystemDeps(deps);
  const { compactionKeysMax, memoryStoreRevisionsMax: revisionsMax } = limitValues;
  const withStorage = { ...all, storage: createMemoryStorage(all) };
  const capabilities = { ...ALL_CAPABILITIES, durability: 'none' } as const;
  const adapter = new EmbeddedAdapter(withStorage, compactionKeysMax, capabilities);
  const engine = new EngineJobStore(adapter, all, {
    retentionRevisionsMax: revisionsMax,
    memoryRevisionsMax: revisionsMax,
    retentionMs: Infinity,
  });
  engine.start();
  return engine;
}

// Removes the rows of deleted jobs, a few keys at a time so that the size of a commit does not depend on the job.
//
// A deleted job has an `x` row with its number. That row is removed last, so a removal interrupted by a crash restarts
// at the next start. Every step is synced: the `x` row must not disappear before the rows it stands for. Damaged rows
// are removed too: their keys are enough.

const { KeyKind } = rows;
const KINDS = [KeyKind.log, KeyKind.cell, KeyKind.task, KeyKind.tag, KeyKind.head];
/** Delay before retrying after a failure, for example when the disk is full. */
const RETRY_MS = 1_000;

type Deletions = ReturnType<typeof createDeletions>;

function createDeletions({ storage, clock, logger }: EmbeddedJobStoreDeps, keysMax: number) {
  const stopping = new AbortController();
  const { signal } = stopping;
  /** Job numbers of deletions that are committed but not yet carried out. */
  const jobNos = new Set<number>();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    for (const jobNo of jobNos) {
      if (signal.aborted) break;
      try {
        await removeJob(jobNo);
        jobNos.delete(jobNo);
      } catch (thrown) {
        jobNos.delete(jobNo);
        jobNos.add(jobNo); // try the others first: only this job may be affected
        const { code } = SynclineError.from(thrown, 'storage-failed');
        if (code === 'closed' || code === 'storage-failed') break; // resumed at the next start
        logger.warn('🟡 a deleted job still has rows', { error: code });
        await clock.sleep(RETRY_MS, signal).catch(() => {}); // stopped: the loop ends
      }
    }
    running = undefined;
  }

  async function removeJob(jobNo: number): Promise<void> {
    const batch = new StorageBatch();
    for (const kind of KINDS) {
      await storage.whenReadable();
      for await (const page of load.readBatches(storage, rows.jobRange(kind, jobNo))) {
        for (const { key } of page) {
          if (batch.delete(key).length < keysMax) continue;
          if (signal.aborted) return;
          await storage.write(batch, { durability: 'synced' });
          batch.clear();
        }
      }
    }
    await storage.write(batch.delete(rows.deletedKey(jobNo)), { durability: 'synced' });
  }

  return {
    pendingCount: () => jobNos.size,

    /** Call it once the job's `x` row is stored. */
    add(jobNo: number): void {
      jobNos.add(jobNo);
      if (!signal.aborted) running ??= run();
    },

    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}
