// A commit being formed: its changes to each job, as an overlay over the committed state. Only the checks of later
// writes in the same commit see it. When the commit has resolved, `apply` makes the changes to the job; if it fails,
// they are discarded.
import type { Durability } from '@syncline/kernel';
import type {
  Applied,
  CellRow,
  DecidedChange,
  HeadRow,
  JobRow,
  JobRows,
  TaskRow,
  WrittenTags,
} from '../core/rows.js';
import { type CellCounts, cellName, progressUnits } from './cell-counts.js';
import {
  type ChangeSubject,
  jobChange,
  leaseChange,
  type StoredChange,
  stateChange,
} from './changes.js';
import type { JobCache } from './job-cache.js';
import type { JobMirror } from './job-mirror.js';
import type {
  CellCommit,
  Commit,
  CommitRows,
  JobCommit,
  JobHead,
  RemovedChange,
} from './store-adapter.js';

/**
 * What a commit changes in one job. A change at or below `compactedTo` that is replaced is removed in the same commit:
 * compaction will not visit it again.
 */
export class StagedJob implements JobCommit, WrittenTags {
  readonly job: JobMirror;
  readonly #stored: CommitRows;
  readonly isNew: boolean;
  handle: unknown;
  row: JobRow;
  isRowChanged = false;
  isDeleted = false;
  compactedTo: number;
  readonly tasks = new Map<number, TaskRow>();
  readonly cells = new Map<string, CellCommit>();
  readonly changes: StoredChange[] = [];
  readonly removed: RemovedChange[] = [];
  readonly writers = new Set<number>();
  readonly #newTags = new Set<string>();
  readonly #counts: CellCounts;
  #revision: number;
  #timestampMs: number;

  constructor(job: JobMirror, rows: CommitRows, isNew: boolean) {
    this.job = job;
    this.#stored = rows;
    this.isNew = isNew;
    this.handle = job.handle;
    this.row = job.row;
    this.compactedTo = job.head.compactedTo;
    this.#counts = job.head.counts.clone();
    this.#revision = job.head.revision;
    this.#timestampMs = job.head.timestampMs;
  }

  get kind(): JobCommit['kind'] {
    if (this.isDeleted) return 'delete';
    return this.isNew ? 'create' : 'change';
  }

  get head(): JobHead & HeadRow {
    return {
      revision: this.#revision,
      timestampMs: this.#timestampMs,
      compactedTo: this.compactedTo,
      logRecords: this.job.head.logRecords + this.changes.length - this.removed.length,
      counts: this.#counts,
      statesCount: this.#counts.total,
    };
  }

  get rows(): JobRows & { readonly tags: WrittenTags } {
    return { job: this.row, head: this.head, tags: this };
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
    return this.changes.length > 0 || this.compactedTo !== this.job.head.compactedTo;
  }

  taskOf(taskId: number): TaskRow | undefined {
    this.job.checkTask(taskId);
    return this.tasks.get(taskId) ?? this.job.tasks.get(taskId);
  }

  cellOf(taskId: number, tag: string): CellRow | undefined {
    const staged = this.cells.get(cellName(taskId, tag));
    if (staged || this.job.latestRevision('state', taskId, tag) === 0) return staged?.row;
    return this.#stored.cell(this.job, taskId, tag);
  }

  /** The State message of a written cell. */
  stateOf(taskId: number, tag: string): Uint8Array {
    const { revision } = this.cells.get(cellName(taskId, tag))?.row ?? { revision: 0 };
    const staged = this.changes.find((change) => change.revision === revision);
    return staged?.bytes ?? this.#stored.state(this.job, taskId, tag);
  }

  latestRevision({ kind, taskId, tag }: ChangeSubject): number {
    if (kind === 'job') return this.row.metadataRevision;
    const cell = this.cells.get(cellName(taskId, tag));
    const staged = kind === 'state' ? cell?.row : this.tasks.get(taskId);
    return staged?.revision ?? this.job.latestRevision(kind, taskId, tag);
  }

  /** Stages the rows and changes of a decision, and the cell that it writes. */
  stage(
    applied: Applied & { readonly job?: JobRow; readonly task?: TaskRow | undefined },
    cell?: CellCommit,
  ): void {
    if (applied.job) this.#putRow(applied.job);
    if (applied.task) this.#putTask(applied.task);
    if (cell) this.#putCell(cell);
    this.changes.push(...applied.changes.map(storedChangeOf));
    this.#revision = applied.head.revision;
    this.#timestampMs = applied.head.timestampMs;
  }

  /** Updates the job in memory. Call it once the commit is stored. */
  apply(): void {
    const { job, row } = this;
    job.handle = this.handle;
    for (const { taskId, tag, row: cell } of this.cells.values())
      job.cells.set({ taskId, tag, revision: cell.revision }, cell.status, cell.progress);
    for (const task of this.tasks.values()) job.setTask(task);
    if (this.isRowChanged) job.cells.setExpectedTags(row.expectedTags);
    job.row = row;
    job.head = this.head;
    job.isDeleted = this.isDeleted;
    const bytes = this.changes.reduce((sum, change) => sum + change.bytes.length, 0);
    job.retention.note(this.#revision, this.#timestampMs, bytes);
  }

  #putCell(cell: CellCommit): void {
    const { taskId, tag, row } = cell;
    const key = cellName(taskId, tag);
    const counts = this.#counts;
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

  #putTask(task: TaskRow): void {
    const { taskId } = task;
    const before = this.taskOf(taskId);
    this.#counts.lostTasks += Number(task.state === 'lost') - Number(before?.state === 'lost');
    this.#counts.epochs += task.epoch - (before?.epoch ?? 0);
    if (before) this.#replaced({ kind: 'lease', revision: before.revision, taskId, tag: '' });
    this.tasks.set(taskId, task);
  }

  #putRow(row: JobRow): void {
    this.#replaced({ kind: 'job', revision: this.row.metadataRevision, taskId: 0, tag: '' });
    this.row = row;
    this.isRowChanged = true;
    let expectedWritten = 0;
    for (const tag of row.expectedTags) expectedWritten += this.job.cells.writtenCount(tag);
    for (const { taskId, tag } of this.cells.values()) {
      const isFirst = this.job.cells.revisionOf(taskId, tag) === 0;
      if (isFirst && row.expectedTags.includes(tag)) expectedWritten += 1;
    }
    this.#counts.expectedWritten = expectedWritten;
  }

  #replaced(change: RemovedChange): void {
    if (change.revision > 0 && change.revision <= this.compactedTo) this.removed.push(change);
  }
}

/** Encodes a change. This is the only place where that happens. */
function storedChangeOf(change: DecidedChange): StoredChange {
  switch (change.kind) {
    case 'state':
      return stateChange(change.state);
    case 'lease':
      return leaseChange(change.lease, change.timestampMs);
    case 'job':
      return jobChange(change.job);
  }
}

/** Thrown when a job is no longer in memory when its commit is formed. The caller loads it and tries again. */
export class JobNotLoaded extends Error {
  override readonly name = 'JobNotLoaded';
}

/**
 * One commit: the jobs that it changes. It pins its jobs until it has ended, since the callers may have given up by
 * then: a job evicted during the commit would be reloaded in its state before the commit.
 */
export class CommitBatch {
  /** In the order in which they were first used. A job that is deleted and recreated appears twice. */
  readonly jobs: StagedJob[] = [];
  readonly rows: CommitRows;
  readonly #cache: JobCache;
  readonly #jobsCount: number;
  readonly #byJobId = new Map<string, StagedJob>();
  #durability: Durability = 'buffered';

  constructor(rows: CommitRows, cache: JobCache, jobsCount: number) {
    this.rows = rows;
    this.#cache = cache;
    this.#jobsCount = rows.jobsCount ?? jobsCount;
  }

  get jobsCount(): number {
    let count = this.#jobsCount;
    for (const { isNew, isDeleted } of this.jobs) count += Number(isNew) - Number(isDeleted);
    return count;
  }

  /** A commit is synced if any write in it requires that. */
  requireSynced(): void {
    this.#durability = 'synced';
  }

  /** Undefined if the job does not exist. `creations` is the count at the time the caller looked the job up. */
  stage(jobId: string, creations: number): StagedJob | undefined {
    const staged = this.#byJobId.get(jobId);
    if (staged) return staged.isDeleted ? undefined : staged;
    const job = this.#cache.peek(jobId);
    if (job) return this.add(job);
    if (this.#cache.creations !== creations) throw new JobNotLoaded();
    return undefined;
  }

  add(job: JobMirror, isNew = false): StagedJob {
    const staged = new StagedJob(job, this.rows, isNew);
    job.pins += 1;
    this.jobs.push(staged);
    this.#byJobId.set(job.row.jobId, staged);
    return staged;
  }

  toCommit(): Commit | undefined {
    const jobs = this.jobs.filter(({ hasChanged }) => hasChanged);
    return jobs.length === 0 ? undefined : { jobs, durability: this.#durability };
  }

  /** Unpins the jobs. Call it once the commit is stored or has failed. */
  end(): void {
    for (const { job } of this.jobs) job.pins -= 1;
  }
}
