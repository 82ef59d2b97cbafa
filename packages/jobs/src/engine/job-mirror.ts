// A job in memory: its latest committed rows, without the log of changes. It is updated only after a commit has
// resolved, so readers never see anything that may still be lost.
import { SynclineError } from '@syncline/kernel';
import type { JobRow, TaskRow } from '../core/rows.js';
import type { Scope } from '../job.js';
import {
  type ChangeKind,
  type ChangeSubject,
  decodeJob,
  decodeLease,
  decodeStoredState,
  type JobFilter,
} from './changes.js';
import { JobCells } from './job-cells.js';
import type { JobFeed } from './job-feed.js';
import type { DamagedRows, JobHead, JobRows, MirroredJob, Since } from './store-adapter.js';

const JOB_BYTES = 4_096;
const TASK_BYTES = 250;

export class JobMirror implements MirroredJob {
  row: JobRow;
  head: JobHead;
  handle: unknown;
  readonly tasks = new Map<number, TaskRow>();
  cells: JobCells;
  damage: JobDamage;
  readonly retention: RetentionMarks;
  /** Shared stores: a planned read of what other processes have committed. */
  catchingUp: { revision: number; done: Promise<void> } | undefined;
  /** Created for the first subscriber, removed some time after the last one has left. */
  feed: JobFeed | undefined;
  /** Number of calls and commits that need the job to stay in memory. */
  pins = 0;
  countedBytes = 0;
  isCompacting = false;
  isDeleted = false;

  constructor(rows: JobRows, retention: RetentionOptions) {
    this.row = rows.row;
    this.head = rows.head;
    this.cells = new JobCells(rows.row);
    this.damage = new JobDamage(rows.damage);
    this.retention = new RetentionMarks(retention, rows.head);
    this.reload(rows);
  }

  get bytes(): number {
    const ringBytes = this.feed?.ringBytes ?? 0;
    return JOB_BYTES + this.tasks.size * TASK_BYTES + this.cells.bytes + ringBytes;
  }

  get isFollowed(): boolean {
    return (this.feed?.subscribersCount ?? 0) > 0;
  }

  /** Replaces everything with freshly read rows of the same incarnation. */
  reload(rows: JobRows): void {
    this.row = rows.row;
    this.head = rows.head;
    this.handle = rows.handle;
    this.tasks.clear();
    this.cells = new JobCells(rows.row);
    this.damage = new JobDamage(rows.damage);
    this.retention.note(rows.head.revision, rows.head.timestampMs, 0);
    let versions = 0;
    let epochs = 0;
    for (const task of rows.tasks) {
      this.setTask(task);
      epochs += task.epoch;
    }
    for (const cell of rows.cells) {
      this.cells.set(cell, cell.status, cell.progress);
      versions += cell.version;
    }
    this.damage.checkSums(rows, { versions, epochs });
  }

  /** Frees everything but what subscribers need while they wait for the next change. */
  unload(): void {
    this.tasks.clear();
    this.cells = new JobCells(this.row);
    this.feed?.clearRing();
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
    const counts =
      changes.length === 0
        ? this.head.counts
        : Object.assign(this.cells.recount(), { versions, epochs });
    this.head = { revision, timestampMs, compactedTo, logRecords, counts };
    this.retention.note(revision, timestampMs, bytes);
  }

  latestRevision(kind: ChangeKind, taskId: number, tag: string): number {
    switch (kind) {
      case 'state':
        this.damage.checkScope({ taskId, tag });
        return this.cells.revisionOf(taskId, tag);
      case 'lease':
        this.damage.checkTask(taskId);
        return this.tasks.get(taskId)?.revision ?? 0;
      case 'job':
        return this.row.metadataRevision;
    }
  }

  *subjects({ scope, withLeases, withJob }: JobFilter): Generator<ChangeSubject> {
    const { taskId } = scope;
    this.damage.checkScope(scope);
    for (const cell of this.cells.written(scope)) yield { kind: 'state', ...cell };
    if (withLeases) {
      this.damage.checkTask(taskId);
      const taskIds = taskId === undefined ? this.tasks.keys() : [taskId];
      for (const each of taskIds) yield { kind: 'lease', taskId: each, tag: '' };
    }
    if (withJob) yield { kind: 'job', taskId: 0, tag: '' };
  }
}

// The rows of a job that cannot be read. The rest of the job stays usable: a damaged row must affect only its own key.
//
// A cell with a damaged row is not "not started" but unknown, so reading it, or an aggregate that includes it, throws.
// A task with a damaged row cannot be claimed, since its epoch could be reused. If rows are missing, it is unknown
// which ones, so the whole job is unreadable.

export class JobDamage {
  readonly #cells: DamagedRows['cells'];
  readonly #tasks: ReadonlyMap<number, SynclineError>;
  #whole: SynclineError | undefined;

  constructor(rows: DamagedRows | undefined) {
    this.#cells = rows?.cells ?? [];
    this.#tasks = new Map(rows?.tasks.map(({ taskId, error }) => [taskId, error]));
  }

  /**
   * J3  A job that lacks acknowledged rows is `corrupt`. This is detected by comparing its rows with the totals in its
   * head. If there are damaged rows, the totals are not compared: those rows are reported individually.
   */
  checkSums(
    { row, head }: Pick<JobRows, 'row' | 'head'>,
    found: { readonly versions: number; readonly epochs: number },
  ): void {
    const { versions, epochs } = head.counts;
    if (this.#cells.length > 0 || this.#tasks.size > 0) return;
    if (versions === found.versions && epochs === found.epochs) return;
    this.#whole = new SynclineError(
      'corrupt',
      `job "${row.jobId}" lacks changes that were stored: its rows add up to ${found.versions} versions and ` +
        `${found.epochs} epochs, not to ${versions} and ${epochs}. The disk probably damaged the log of the store. ` +
        'Restore the data directory from a backup, or delete the job.',
      { details: { jobId: row.jobId } },
    );
  }

  checkWhole(): void {
    if (this.#whole) throw this.#whole;
  }

  checkScope(scope: Scope): void {
    this.checkWhole();
    for (const { taskId, tag, error } of this.#cells) {
      const isTask = scope.taskId === undefined || scope.taskId === taskId;
      if (isTask && (scope.tag === undefined || tag === undefined || scope.tag === tag))
        throw error;
    }
  }

  /** Throws `corrupt` if the row of the task is damaged; if `taskId` is undefined, the row of any task. */
  checkTask(taskId: number | undefined): void {
    this.checkWhole();
    const [first] = this.#tasks.values();
    const error = taskId === undefined ? first : this.#tasks.get(taskId);
    if (error) throw error;
  }
}

// Finds the newest change of a job that is outside retention: because of the number or size of the changes after it, or
// because of its age.
//
// Marks record revision, bytes and time at regular intervals, so a few hundred of them cover 100,000 changes. The
// newest change also counts as a mark, so that an idle job ages out completely. Marks are not stored: after a restart,
// all older changes count as written at the time of the job's last change.

export interface RetentionOptions {
  readonly revisionsMax: number;
  readonly ageMs: number;
  readonly bytesMax: number;
}

interface Mark {
  readonly revision: number;
  readonly timestampMs: number;
  /** Total size of all records up to this one, since the job was loaded. */
  readonly bytes: number;
}

const MARKS_PER_RETENTION = 256;

export class RetentionMarks {
  readonly #options: RetentionOptions;
  readonly #everyRevisions: number;
  readonly #everyBytes: number;
  readonly #marks: Mark[] = [];
  #newest: Mark;

  constructor(
    options: RetentionOptions,
    head: { readonly revision: number; readonly timestampMs: number },
  ) {
    this.#options = options;
    this.#everyRevisions = Math.max(1, Math.floor(options.revisionsMax / MARKS_PER_RETENTION));
    this.#everyBytes = options.bytesMax / MARKS_PER_RETENTION;
    this.#newest = { revision: head.revision, timestampMs: head.timestampMs, bytes: 0 };
    this.#marks.push(this.#newest);
  }

  /** Call it after each commit. */
  note(revision: number, timestampMs: number, bytes: number): void {
    this.#newest = { revision, timestampMs, bytes: this.#newest.bytes + bytes };
    const mark = this.#marks.at(-1);
    const isDue =
      mark === undefined ||
      revision >= mark.revision + this.#everyRevisions ||
      this.#newest.bytes >= mark.bytes + this.#everyBytes;
    if (isDue) this.#marks.push(this.#newest);
  }

  /** Changes up to this revision may be removed if they have been replaced. */
  outside(revision: number, nowMs: number): number {
    let outside = Math.max(0, revision - this.#options.revisionsMax);
    let index = 0;
    for (const mark of this.#marks) {
      const isOutside = this.#isOutside(mark, nowMs);
      if (!isOutside && mark.revision > outside) break;
      outside = Math.max(outside, isOutside ? mark.revision : 0);
      index += 1;
    }
    // Keep the newest mark that is outside: the next call needs it.
    if (index > 1) this.#marks.splice(0, index - 1);
    return this.#isOutside(this.#newest, nowMs) ? this.#newest.revision : outside;
  }

  #isOutside({ timestampMs, bytes }: Mark, nowMs: number): boolean {
    const { ageMs, bytesMax } = this.#options;
    return timestampMs <= nowMs - ageMs || bytes <= this.#newest.bytes - bytesMax;
  }
}
