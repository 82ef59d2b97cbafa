// A job in memory: all rows but the changes, each as it was last committed. It changes only when a commit has
// resolved, so a reader sees nothing that may still be lost. And the overlay of a commit that is being formed.
import { assert } from '@syncline/kernel';
import type { Applied, WrittenTags } from '../core/decision.js';
import type { CellRow, DecidedChange, HeadRow, JobRow, TaskRow } from '../core/rows.js';
import type { Scope } from '../state.js';
import { type CellCounts, progressUnits } from './cell-counts.js';
import { JobDamage } from './damage.js';
import { JobCells } from './job-cells.js';
import type { JobFeed } from './job-feed.js';
import { RetentionMarks, type RetentionOptions } from './retention-marks.js';
import type {
  CellCommit,
  JobCommit,
  JobHead,
  JobRows,
  MirroredJob,
  RemovedChange,
} from './store-adapter.js';
import {
  type ChangeKind,
  decodeJob,
  decodeLease,
  decodeStoredState,
  jobChange,
  leaseChange,
  type StoredChange,
  stateChange,
} from './stored-change.js';

const JOB_BYTES = 4_096;
const TASK_BYTES = 250;

export class JobMirror implements MirroredJob {
  row: JobRow;
  head: JobHead;
  handle: unknown;
  readonly tasks = new Map<number, TaskRow>();
  readonly cells: JobCells;
  readonly damage: JobDamage;
  readonly retention: RetentionMarks;
  /** Made for the first subscriber, removed a while after the last. */
  feed: JobFeed | undefined;
  /** Calls and commits that need it to stay in memory. */
  pins = 0;
  /** What the cache counts it as. */
  countedBytes = 0;
  isCompacting = false;
  isDeleted = false;

  constructor(rows: JobRows, retention: RetentionOptions) {
    this.row = rows.row;
    this.head = rows.head;
    this.handle = rows.handle;
    this.cells = new JobCells(rows.row);
    this.damage = new JobDamage(rows.damage);
    this.retention = new RetentionMarks(retention, rows.head);
    let epochs = 0;
    let versions = 0;
    for (const task of rows.tasks) {
      this.tasks.set(task.taskId, task);
      this.cells.setLost(task.taskId, task.state === 'lost');
      epochs += task.epoch;
    }
    for (const cell of rows.cells) {
      this.cells.set(cell, cell.status, cell.progress);
      versions += cell.version;
    }
    this.damage.checkSums(rows, { versions, epochs });
  }

  /** Memory that it takes, about. */
  get bytes(): number {
    const ringBytes = this.feed?.ringBytes ?? 0;
    return JOB_BYTES + this.tasks.size * TASK_BYTES + this.cells.bytes + ringBytes;
  }

  latestRevision(kind: ChangeKind, taskId: number, tag: string): number {
    switch (kind) {
      case 'state':
        return this.cells.revisionOf(taskId, tag);
      case 'lease':
        return this.tasks.get(taskId)?.revision ?? 0;
      case 'job':
        return this.row.metadataRevision;
    }
  }

  revisions(scope: Scope): Iterable<number> {
    return this.cells.revisions(scope);
  }
}

interface StagedCell {
  readonly taskId: number;
  readonly tag: string;
  readonly revision: number;
  readonly status: number;
  readonly progress: number;
  /** Undefined for a change of another process. */
  readonly row: CellRow | undefined;
  readonly isBuffered: boolean;
}

/**
 * What a commit that is being formed changes in one job. Checks of later writes in the same commit see it, nobody
 * else does. When the commit has resolved, `apply` makes it the content of the job; when it has failed, it is
 * forgotten and nothing has happened.
 *
 * A change that is replaced at or below `compactedTo` is removed in the same commit: compaction has passed it.
 */
export class StagedJob implements WrittenTags {
  readonly job: JobMirror;
  readonly kind: 'create' | 'change';
  row: JobRow;
  isRowChanged = false;
  isDeleted = false;
  readonly tasks = new Map<number, TaskRow>();
  readonly changes: StoredChange[] = [];
  readonly removed: RemovedChange[] = [];
  /** Tasks that wrote: their leases are renewed. */
  readonly writers = new Set<number>();
  readonly #cells = new Map<string, StagedCell>();
  readonly #newTags = new Set<string>();
  /** Tasks that have written nothing before. */
  readonly #newTasks = new Set<number>();
  readonly #counts: CellCounts;
  #revision: number;
  #timestampMs: number;
  compactedTo: number;
  #changesBytes = 0;
  #commit: JobCommit | undefined;

  constructor(job: JobMirror, kind: 'create' | 'change' = 'change') {
    this.job = job;
    this.kind = kind;
    this.row = job.row;
    this.#counts = job.head.counts.clone();
    this.#revision = job.head.revision;
    this.#timestampMs = job.head.timestampMs;
    this.compactedTo = job.head.compactedTo;
  }

  /** For the core. */
  get head(): HeadRow {
    const { total: statesCount } = this.#counts;
    return { revision: this.#revision, timestampMs: this.#timestampMs, statesCount };
  }

  get size(): number {
    return this.job.cells.size + this.#newTags.size;
  }

  has(tag: string): boolean {
    return this.job.cells.has(tag) || this.#newTags.has(tag);
  }

  /** Whether there is something to store. A job that was created and deleted in one commit never was. */
  get hasChanged(): boolean {
    if (this.isDeleted) return this.kind === 'change';
    return (
      this.kind === 'create' ||
      this.changes.length > 0 ||
      this.compactedTo !== this.job.head.compactedTo
    );
  }

  taskOf(taskId: number): TaskRow | undefined {
    this.job.damage.checkTask(taskId);
    return this.tasks.get(taskId) ?? this.job.tasks.get(taskId);
  }

  stagedCell(taskId: number, tag: string): CellRow | undefined {
    return this.#cells.get(keyOf(taskId, tag))?.row;
  }

  latestRevision({ kind, taskId, tag }: Pick<RemovedChange, 'kind' | 'taskId' | 'tag'>): number {
    if (kind === 'state') {
      const staged = this.#cells.get(keyOf(taskId, tag));
      return staged?.revision ?? this.job.cells.revisionOf(taskId, tag);
    }
    if (kind === 'lease') return this.taskOf(taskId)?.revision ?? 0;
    return this.row.metadataRevision;
  }

  /** The rows and changes of a decision. */
  stage(
    applied: Applied & { readonly job?: JobRow; readonly task?: TaskRow | undefined },
    write?: {
      readonly taskId: number;
      readonly tag: string;
      readonly row: CellRow;
      readonly isBuffered: boolean;
    },
  ): void {
    if (applied.job) this.#putRow(applied.job);
    if (applied.task) this.#putTask(applied.task);
    if (write) {
      const { revision, status, progress } = write.row;
      this.#putCell({ ...write, revision, status, progress });
      this.writers.add(write.taskId);
    }
    for (const change of applied.changes) this.#push(storedChangeOf(change));
  }

  /** Takes on a change that another process has committed. */
  follow(change: StoredChange): void {
    switch (change.kind) {
      case 'state': {
        const { status, progress = 0 } = decodeStoredState(change.bytes, this.row.jobId);
        const { taskId, tag, revision } = change;
        this.#putCell({
          taskId,
          tag,
          revision,
          status,
          progress,
          row: undefined,
          isBuffered: false,
        });
        break;
      }
      case 'lease': {
        const { expiresAtMs: _, ...task } = decodeLease(change);
        this.#putTask(task);
        break;
      }
      case 'job': {
        const { revision: metadataRevision, changedAtMs: _, ...metadata } = decodeJob(change);
        this.#putRow({ ...metadata, metadataRevision });
        break;
      }
    }
    this.#push(change);
  }

  remove(change: RemovedChange): void {
    this.removed.push(change);
  }

  toCommit(): JobCommit {
    const kind = this.isDeleted ? 'delete' : this.kind;
    const { row, isRowChanged, changes, removed } = this;
    const cells: CellCommit[] = [];
    for (const { taskId, tag, row: cell, isBuffered } of this.#cells.values()) {
      assert(cell !== undefined, 'a commit writes whole cells');
      cells.push({ taskId, tag, row: cell, isBuffered });
    }
    this.#commit = {
      kind,
      handle: this.job.handle,
      row,
      isRowChanged,
      head: this.#newHead(),
      tasks: [...this.tasks.values()],
      cells,
      changes,
      removed,
      renewed: this.writers,
    };
    return this.#commit;
  }

  /** The commit is stored: this is what the job is now. */
  apply(): void {
    const { job, row } = this;
    if (this.#commit) job.handle = this.#commit.handle;
    for (const cell of this.#cells.values()) job.cells.set(cell, cell.status, cell.progress);
    for (const task of this.tasks.values()) {
      job.tasks.set(task.taskId, task);
      job.cells.setLost(task.taskId, task.state === 'lost');
    }
    if (this.isRowChanged) job.cells.setExpectedTags(row.expectedTags);
    job.row = row;
    job.head = this.#newHead();
    job.isDeleted = this.isDeleted;
    job.retention.note(this.#revision, this.#timestampMs, this.#changesBytes);
  }

  #newHead(): JobHead {
    return {
      revision: this.#revision,
      timestampMs: this.#timestampMs,
      compactedTo: this.compactedTo,
      logRecords: this.job.head.logRecords + this.changes.length - this.removed.length,
      counts: this.#counts,
    };
  }

  #push(change: StoredChange): void {
    this.#revision = change.revision;
    this.#timestampMs = Math.max(this.#timestampMs, change.timestampMs);
    this.#changesBytes += change.bytes.length;
    this.changes.push(change);
  }

  #putCell(cell: StagedCell): void {
    const { taskId, tag, status, progress } = cell;
    const key = keyOf(taskId, tag);
    const counts = this.#counts;
    const before = this.#cells.get(key) ?? this.job.cells.cellAt(taskId, tag);
    if (before) {
      counts.add(before.status, progressUnits(before.status, before.progress), -1);
      this.#replaced({ kind: 'state', revision: before.revision, taskId, tag });
    } else {
      if (this.row.expectedTags.includes(tag)) counts.expectedWritten += 1;
      if (!this.job.cells.hasWritten(taskId) && !this.#newTasks.has(taskId)) {
        counts.silentTasks -= 1;
        this.#newTasks.add(taskId);
      }
      if (!this.has(tag)) this.#newTags.add(tag);
    }
    counts.add(status, progressUnits(status, progress));
    counts.versions += 1;
    this.#cells.set(key, cell);
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
    for (const { taskId, tag } of this.#cells.values()) {
      const isFirst = this.job.cells.revisionOf(taskId, tag) === 0;
      if (isFirst && row.expectedTags.includes(tag)) expectedWritten += 1;
    }
    this.#counts.expectedWritten = expectedWritten;
  }

  #replaced(change: RemovedChange): void {
    if (change.revision > 0 && change.revision <= this.compactedTo) this.remove(change);
  }
}

/** Encodes it: the one time that this happens. */
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

function keyOf(taskId: number, tag: string): string {
  return `${taskId} ${tag}`;
}
