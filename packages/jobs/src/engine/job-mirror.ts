// A job in memory: its latest committed rows. It is updated only after a commit has resolved, so readers never see
// anything that may still be lost.
//
// A damaged row affects only its own key: reading that cell, or an aggregate that includes it, throws, and its task
// cannot be claimed, since the epoch could be reused. If rows are missing, no one knows which: the job is unreadable.
import { SynclineError } from '@syncline/kernel';
import type { JobRow, TaskRow } from '../core/rows.js';
import type { CellCounts } from './cell-counts.js';
import type { ChangeKind, ChangeSubject, JobFilter } from './changes.js';
import { decodeJob, decodeLease, decodeStoredState } from './changes.js';
import { JobCells } from './job-cells.js';
import type { DamagedRow, JobHead, JobRows, MirroredJob, Since } from './store-adapter.js';

const JOB_BYTES = 4_096;
const TASK_BYTES = 250;

export class JobMirror implements MirroredJob {
  /** `reload` sets these four. */
  declare row: JobRow;
  declare head: JobHead;
  declare handle: unknown;
  declare cells: JobCells;
  readonly tasks = new Map<number, TaskRow>();
  readonly retention: RetentionMarks;
  /** Shared stores: a planned read of what other processes have committed. */
  catchingUp: { revision: number; done: Promise<void> } | undefined;
  countedBytes = 0;
  isCompacting = false;
  isDeleted = false;
  #damage: readonly DamagedRow[] = [];
  #missingRows: SynclineError | undefined;

  constructor(rows: JobRows, retention: RetentionLimits) {
    this.retention = new RetentionMarks(retention, rows.head);
    this.reload(rows);
  }

  get bytes(): number {
    return JOB_BYTES + this.tasks.size * TASK_BYTES + this.cells.bytes;
  }

  reload(rows: JobRows): void {
    this.row = rows.row;
    this.head = rows.head;
    this.handle = rows.handle;
    this.tasks.clear();
    for (const task of rows.tasks) this.tasks.set(task.taskId, task);
    // An adapter may return iterators, which can be read once.
    const { cells, counts } = countRows({ ...rows, tasks: this.tasks.values() });
    this.cells = cells;
    this.retention.note(rows.head.revision, rows.head.timestampMs, 0);
    this.#damage = rows.damage ?? [];
    this.#missingRows = this.#damage.length > 0 ? undefined : missingRows(rows, counts);
  }

  setTask(task: TaskRow): void {
    this.tasks.set(task.taskId, task);
    this.cells.setLost(task.taskId, task.state === 'lost');
  }

  follow({ changes, compactedTo, logRecords }: Extract<Since, { kind: 'changes' }>): void {
    let { revision, timestampMs } = this.head;
    let { versions, epochs } = this.head.counts;
    let bytes = 0;
    for (const change of changes) {
      switch (change.kind) {
        case 'state': {
          const { status, progress } = decodeStoredState(change.bytes, this.row.jobId);
          this.cells.set(change, status, progress);
          versions += 1;
          break;
        }
        case 'lease': {
          const { expiresAtMs: _, ...task } = decodeLease(change);
          epochs += task.epoch - (this.tasks.get(task.taskId)?.epoch ?? 0);
          this.setTask(task);
          break;
        }
        case 'job': {
          const { revision: metadataRevision, changedAtMs: _, ...metadata } = decodeJob(change);
          this.row = { ...metadata, metadataRevision };
          this.cells.setExpectedTags(metadata.expectedTags);
          break;
        }
      }
      ({ revision, timestampMs } = change);
      bytes += change.bytes.length;
    }
    const counts = Object.assign(this.cells.recount(), { versions, epochs });
    this.head = { revision, timestampMs, compactedTo, logRecords, counts };
    this.retention.note(revision, timestampMs, bytes);
  }

  latestRevision(kind: ChangeKind, taskId: number, tag: string): number {
    switch (kind) {
      case 'state':
        this.check('state', { taskId, tag });
        return this.cells.revisionOf(taskId, tag);
      case 'lease':
        this.check('lease', { taskId });
        return this.tasks.get(taskId)?.revision ?? 0;
      case 'job':
        return this.row.metadataRevision;
    }
  }

  *subjects({ scope, withLeases, withJob }: JobFilter): Generator<ChangeSubject> {
    const { taskId } = scope;
    this.check('state', scope);
    for (const cell of this.cells.written(scope)) yield { kind: 'state', ...cell };
    if (withLeases) {
      this.check('lease', { taskId });
      const taskIds = taskId === undefined ? this.tasks.keys() : [taskId];
      for (const each of taskIds) yield { kind: 'lease', taskId: each, tag: '' };
    }
    if (withJob) yield { kind: 'job', taskId: 0, tag: '' };
  }

  checkWhole(): void {
    if (this.#missingRows) throw this.#missingRows;
  }

  /** Throws `corrupt` if a state or lease in the scope cannot be read. */
  check(kind: DamagedRow['kind'], scope: { taskId?: number | undefined; tag?: string }): void {
    this.checkWhole();
    for (const { taskId, tag = scope.tag, ...damaged } of this.#damage) {
      const isTask = scope.taskId === undefined || scope.taskId === taskId;
      const isTag = scope.tag === undefined || scope.tag === tag;
      if (damaged.kind === kind && isTask && isTag) throw damaged.error;
    }
  }
}

/** The cells of a job that was read, and the totals of all its rows. */
export function countRows({ row, tasks, cells }: JobRows) {
  const all = new JobCells(row);
  let versions = 0;
  let epochs = 0;
  for (const { taskId, epoch, state } of tasks) {
    all.setLost(taskId, state === 'lost');
    epochs += epoch;
  }
  for (const cell of cells) {
    all.set(cell, cell.status, cell.progress);
    versions += cell.version;
  }
  return { cells: all, counts: Object.assign(all.recount(), { versions, epochs }) };
}

/** J3  A job that lacks acknowledged rows is `corrupt`: they do not add up to the totals in its head. */
function missingRows(
  { row: { jobId }, head: { counts } }: JobRows,
  { versions, epochs }: CellCounts,
): SynclineError | undefined {
  if (counts.versions === versions && counts.epochs === epochs) return undefined;
  return new SynclineError(
    'corrupt',
    `job "${jobId}" lacks changes that were stored: its rows add up to ${versions} versions and ${epochs} epochs, ` +
      `not to ${counts.versions} and ${counts.epochs}. The disk probably damaged the log of the store. ` +
      'Restore the data directory from a backup, or delete the job.',
    { details: { jobId } },
  );
}

export type RetentionLimits = Readonly<
  Record<'retentionRevisionsMax' | 'retentionMs' | 'retentionBytesMax', number>
>;

interface Mark {
  readonly revision: number;
  readonly timestampMs: number;
  /** Total size of all records up to this one, since the job was loaded. */
  readonly bytes: number;
}

const MARKS_PER_RETENTION = 256;

/**
 * Finds the newest change of a job that is outside retention: because of the number or size of the changes after it, or
 * because of its age. Marks at regular intervals, and one for the newest change, cover 100,000 changes with a few
 * hundred. They are not stored: when a job is loaded, all older changes count as written at the time of its last change.
 */
export class RetentionMarks {
  readonly #limits: RetentionLimits;
  /** Oldest first. */
  readonly #marks: Mark[];
  #newest: Mark;

  constructor(limits: RetentionLimits, head: Omit<Mark, 'bytes'>) {
    this.#limits = limits;
    this.#newest = { revision: head.revision, timestampMs: head.timestampMs, bytes: 0 };
    this.#marks = [this.#newest];
  }

  note(revision: number, timestampMs: number, bytes: number): void {
    const { retentionRevisionsMax, retentionBytesMax } = this.#limits;
    this.#newest = { revision, timestampMs, bytes: this.#newest.bytes + bytes };
    const mark = this.#marks.at(-1) ?? this.#newest;
    const everyRevisions = Math.max(1, Math.floor(retentionRevisionsMax / MARKS_PER_RETENTION));
    const isDue =
      revision >= mark.revision + everyRevisions ||
      this.#newest.bytes >= mark.bytes + retentionBytesMax / MARKS_PER_RETENTION;
    if (isDue) this.#marks.push(this.#newest);
  }

  /** Changes up to this revision may be removed if they have been replaced. */
  outside(revision: number, nowMs: number): number {
    const { retentionRevisionsMax, retentionMs, retentionBytesMax } = this.#limits;
    const tooMany = Math.max(0, revision - retentionRevisionsMax);
    const isOutside = (mark: Mark) =>
      mark.revision <= tooMany ||
      mark.timestampMs <= nowMs - retentionMs ||
      mark.bytes <= this.#newest.bytes - retentionBytesMax;
    if (isOutside(this.#newest)) return this.#newest.revision;
    // Keep the newest mark that is outside: the next call needs it.
    while (this.#marks[1] && isOutside(this.#marks[1])) this.#marks.shift();
    const [first] = this.#marks;
    return first && isOutside(first) ? Math.max(tooMany, first.revision) : tooMany;
  }
}
