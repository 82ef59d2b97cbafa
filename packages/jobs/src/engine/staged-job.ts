// A commit being formed: its changes to each job, as an overlay over the committed state that only the checks of later
// writes in the same commit see. It is applied to the job in memory once the commit is stored.
import type * as decisions from '../core/decisions.js';
import type * as core from '../core/rows.js';
import type { Mutable } from '../job.js';
import { cellName, progressUnits } from './cell-counts.js';
import type { ChangeSubject, StoredChange } from './changes.js';
import { jobChange, leaseChange, stateChange } from './changes.js';
import type { JobCache } from './job-cache.js';
import type { JobMirror } from './job-mirror.js';
import type * as port from './store-adapter.js';

/** A decision to change something, with the rows that it changes and what readers see of them. */
export type AppliedRows = decisions.Applied &
  Partial<decisions.JobApplied & decisions.LeaseApplied & decisions.StateApplied>;

/**
 * What a commit changes in one job. A change at or below `compactedTo` that is replaced is removed in the same commit:
 * compaction will not visit it again.
 */
export class StagedJob implements port.JobCommit, core.WrittenTags {
  readonly job: JobMirror;
  readonly #stored: port.CommitRows;
  readonly isNew: boolean;
  handle: unknown;
  row: core.JobRow;
  isRowChanged = false;
  isDeleted = false;
  hasSyncedState = false;
  readonly head: Mutable<port.JobHead>;
  readonly tasks = new Map<number, core.TaskRow>();
  readonly cells = new Map<string, port.CellCommit>();
  readonly changes: StoredChange[] = [];
  readonly removed: port.RemovedChange[] = [];
  readonly writers = new Set<number>();
  readonly #newTags = new Set<string>();

  constructor(job: JobMirror, stored: port.CommitRows, isNew: boolean) {
    this.job = job;
    this.#stored = stored;
    this.isNew = isNew;
    this.handle = job.handle;
    this.row = job.row;
    this.head = { ...job.head, counts: job.head.counts.clone() };
  }

  get kind(): port.JobCommit['kind'] {
    if (this.isDeleted) return 'delete';
    return this.isNew ? 'create' : 'change';
  }

  get rows(): core.JobRows & { readonly tags: core.WrittenTags } {
    const { revision, timestampMs, counts } = this.head;
    const head = { revision, timestampMs, statesCount: counts.total };
    return { job: this.row, head, tags: this };
  }

  /** Each property is named: spreading `rows` would take a fifth of the time of a decision. */
  rowsWith(taskId: number, cell?: core.CellRow) {
    const { job, head, tags } = this.rows;
    return { job, head, tags, task: this.taskOf(taskId), cell };
  }

  get size(): number {
    return this.job.cells.size + this.#newTags.size;
  }

  has(tag: string): boolean {
    return this.job.cells.has(tag) || this.#newTags.has(tag);
  }

  /** Whether there is something to store. A job created and deleted in the same commit is not stored at all. */
  get hasChanged(): boolean {
    if (this.isDeleted) return !this.isNew;
    return this.changes.length > 0 || this.head.compactedTo !== this.job.head.compactedTo;
  }

  /** Only commits of nothing but buffered states are not synced: an epoch must not be issued twice. */
  get isSynced(): boolean {
    const isCompacted = this.head.compactedTo !== this.job.head.compactedTo;
    const hasChangedRows = this.tasks.size > 0 || this.isRowChanged || this.isDeleted;
    return this.hasSyncedState || hasChangedRows || isCompacted;
  }

  taskOf(taskId: number): core.TaskRow | undefined {
    this.job.check('lease', { taskId });
    return this.tasks.get(taskId) ?? this.job.tasks.get(taskId);
  }

  cellOf(taskId: number, tag: string): core.CellRow | undefined {
    const staged = this.cells.get(cellName(taskId, tag));
    if (staged || this.job.latestRevision('state', taskId, tag) === 0) return staged?.row;
    return this.#stored.cell(this.job, taskId, tag);
  }

  stateOf(taskId: number, tag: string): Uint8Array {
    const revision = this.cells.get(cellName(taskId, tag))?.row.revision;
    const staged = this.changes.find((change) => change.revision === revision);
    return staged?.bytes ?? this.#stored.state(this.job, taskId, tag);
  }

  latestRevision({ kind, taskId, tag }: ChangeSubject): number {
    if (kind === 'job') return this.row.metadataRevision;
    const cell = this.cells.get(cellName(taskId, tag));
    const staged = kind === 'state' ? cell?.row : this.tasks.get(taskId);
    return staged?.revision ?? this.job.latestRevision(kind, taskId, tag);
  }

  stage({ head, job, info, task, lease, cell, state }: AppliedRows): void {
    const { revision, timestampMs } = head;
    if (job) this.#putRow(job);
    if (task) this.#putTask(task);
    if (cell && state) this.#putCell({ taskId: state.taskId, tag: state.tag, row: cell });
    if (info) this.changes.push(jobChange(info));
    if (lease) this.changes.push(leaseChange(lease, timestampMs));
    if (state) this.changes.push(stateChange(state));
    this.head.logRecords += revision - this.head.revision; // each change takes one
    this.head.revision = revision;
    this.head.timestampMs = timestampMs;
  }

  remove(change: port.RemovedChange): void {
    this.removed.push(change);
    this.head.logRecords -= 1;
  }

  /** Updates the job in memory. Call it once the commit is stored. */
  apply(): void {
    const { job, row, head } = this;
    job.handle = this.handle;
    for (const { taskId, tag, row: cell } of this.cells.values())
      job.cells.set({ taskId, tag, revision: cell.revision }, cell.status, cell.progress);
    for (const task of this.tasks.values()) job.setTask(task);
    if (this.isRowChanged) job.cells.setExpectedTags(row.expectedTags);
    job.row = row;
    job.head = head;
    job.isDeleted = this.isDeleted;
    const bytes = this.changes.reduce((sum, change) => sum + change.bytes.length, 0);
    job.retention.note(head.revision, head.timestampMs, bytes);
  }

  #putCell(cell: port.CellCommit): void {
    const { taskId, tag, row } = cell;
    const key = cellName(taskId, tag);
    const { counts } = this.head;
    const before = this.cells.get(key)?.row ?? this.job.cells.cellAt(taskId, tag);
    if (before) {
      counts.add(before.status, progressUnits(before.status, before.progress), -1);
      this.#replaced({ kind: 'state', revision: before.revision, taskId, tag });
    } else {
      if (this.row.expectedTags.includes(tag)) counts.expectedWritten += 1;
      const isSilent = !this.job.cells.hasWritten(taskId) && !this.writers.has(taskId);
      if (isSilent) counts.silentTasks -= 1;
      if (!this.has(tag)) this.#newTags.add(tag);
    }
    counts.add(row.status, progressUnits(row.status, row.progress));
    counts.versions += 1;
    this.cells.set(key, cell);
    this.writers.add(taskId);
  }

  #putTask(task: core.TaskRow): void {
    const { taskId } = task;
    const { counts } = this.head;
    const before = this.taskOf(taskId);
    counts.lostTasks += Number(task.state === 'lost') - Number(before?.state === 'lost');
    counts.epochs += task.epoch - (before?.epoch ?? 0);
    if (before) this.#replaced({ kind: 'lease', revision: before.revision, taskId, tag: '' });
    this.tasks.set(taskId, task);
  }

  #putRow(row: core.JobRow): void {
    this.#replaced({ kind: 'job', revision: this.row.metadataRevision, taskId: 0, tag: '' });
    this.row = row;
    this.isRowChanged = true;
    let expectedWritten = 0;
    for (const tag of row.expectedTags) expectedWritten += this.job.cells.writtenCount(tag);
    for (const { taskId, tag } of this.cells.values()) {
      const isFirst = this.job.cells.revisionOf(taskId, tag) === 0;
      if (isFirst && row.expectedTags.includes(tag)) expectedWritten += 1;
    }
    this.head.counts.expectedWritten = expectedWritten;
  }

  #replaced(change: port.RemovedChange): void {
    if (change.revision > 0 && change.revision <= this.head.compactedTo) this.remove(change);
  }
}

/** One commit: the jobs that it changes, all of which its calls hold. */
export class CommitBatch {
  /** In the order in which they were first used. A job that is deleted and recreated appears twice. */
  readonly jobs: StagedJob[] = [];
  readonly rows: port.CommitRows;
  securesEarlier = false;
  readonly #cache: JobCache;
  readonly #jobsCount: number;
  readonly #byJobId = new Map<string, StagedJob>();

  constructor(rows: port.CommitRows, cache: JobCache, jobsCount: number) {
    this.rows = rows;
    this.#cache = cache;
    this.#jobsCount = rows.jobsCount ?? jobsCount;
  }

  get jobsCount(): number {
    let count = this.#jobsCount;
    for (const { isNew, isDeleted } of this.jobs) count += Number(isNew) - Number(isDeleted);
    return count;
  }

  /** Undefined if the job does not exist. */
  stage(jobId: string): StagedJob | undefined {
    const staged = this.#byJobId.get(jobId);
    if (staged) return staged.isDeleted ? undefined : staged;
    const job = this.#cache.loaded.get(jobId);
    return job && this.add(job);
  }

  add(job: JobMirror, isNew = false): StagedJob {
    const staged = new StagedJob(job, this.rows, isNew);
    this.jobs.push(staged);
    this.#byJobId.set(job.row.jobId, staged);
    return staged;
  }
}
