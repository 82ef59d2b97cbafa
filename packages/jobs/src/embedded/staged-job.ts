// What a batch that is being formed changes in one job: an overlay over what is committed.
//
// Checks of later writes in the same batch see it, nobody else does. When the batch has resolved, `apply`
// makes it the job's content; when it has failed, it is forgotten and nothing has happened.
//
// A record that is replaced at or below `compactedTo` is deleted in the same batch: compaction has passed it
// and will not come back.
import type { Applied, WrittenTags } from '../core/decision.js';
import type { CellRow, JobChange, JobRow, TaskRow } from '../core/rows.js';
import type { State } from '../state.js';
import type { LoadedJob } from './loaded-job.js';
import type { StoredCell } from './row-codec.js';
import { StagedHead } from './staged-head.js';

interface StagedCell extends StoredCell {
  readonly tagNo: number;
  readonly taskId: number;
}

/** More than the tasks that a job can have. */
const TASKS_SPAN = 2 ** 20;

export class StagedJob implements WrittenTags {
  readonly job: LoadedJob;
  readonly head: StagedHead;
  readonly isNew: boolean;
  row: JobRow;
  isRowChanged = false;
  isDeleted = false;
  /** By tag, with the number that it gets. */
  readonly newTags = new Map<string, number>();
  readonly tasks = new Map<number, TaskRow>();
  readonly cells = new Map<number, StagedCell>();
  readonly changes: JobChange[] = [];
  /** Records that leave the log. */
  readonly removedRevisions: number[] = [];
  /** Tasks that wrote: their leases are renewed. */
  readonly writers = new Set<number>();
  /** Of the records of its changes, once they are encoded. */
  recordBytes = 0;

  constructor(job: LoadedJob, isNew = false) {
    this.job = job;
    this.row = job.row;
    this.head = new StagedHead(job.head);
    this.isNew = isNew;
  }

  get size(): number {
    return this.job.tags.size + this.newTags.size;
  }

  has(tag: string): boolean {
    return this.job.tags.has(tag) || this.newTags.has(tag);
  }

  /** Undefined: nobody has written this tag. */
  tagNoOf(tag: string): number | undefined {
    return this.job.tags.numberOf(tag) ?? this.newTags.get(tag);
  }

  taskOf(taskId: number): TaskRow | undefined {
    this.job.damage.checkTask(taskId);
    return this.tasks.get(taskId) ?? this.job.tasks.get(taskId);
  }

  stagedCell(tagNo: number, taskId: number): StoredCell | undefined {
    return this.cells.get(tagNo * TASKS_SPAN + taskId);
  }

  /** The revision of the latest record of a cell; 0: never written. */
  placeOf(tagNo: number, taskId: number): number {
    return this.stagedCell(tagNo, taskId)?.row.revision ?? this.job.places.get(tagNo, taskId);
  }

  stageState(
    applied: Applied & { readonly state: State; readonly cell: CellRow },
    isBuffered: boolean,
    previous: CellRow | undefined,
  ): void {
    const { taskId, tag, status } = applied.state;
    const tagNo = this.tagNoOf(tag) ?? this.#newTag(tag);
    if (previous) this.head.written.add(previous.status, -1);
    else this.#countFirstWrite(taskId, tag);
    this.head.written.add(status);
    this.head.sums.versions += 1;
    this.#replaced(previous?.revision ?? 0);
    this.cells.set(tagNo * TASKS_SPAN + taskId, { row: applied.cell, isBuffered, tagNo, taskId });
    this.writers.add(taskId);
    this.#stageChanges(applied);
  }

  stageTask(task: TaskRow): void {
    const previous = this.taskOf(task.taskId);
    this.head.lostTasks += Number(task.state === 'lost') - Number(previous?.state === 'lost');
    this.head.sums.epochs += task.epoch - (previous?.epoch ?? 0);
    this.#replaced(previous?.revision ?? 0);
    this.tasks.set(task.taskId, task);
  }

  stageLease(applied: Applied & { readonly task: TaskRow }): void {
    this.stageTask(applied.task);
    this.#stageChanges(applied);
  }

  stageRow(applied: Applied & { readonly job: JobRow }): void {
    this.#replaced(this.row.metadataRevision);
    this.row = applied.job;
    this.isRowChanged = true;
    this.head.expectedWritten = this.#expectedWritten();
    this.#stageChanges(applied);
  }

  /** The row of a cell is written once more, so that it is as durable as this batch. */
  stageAgain(tagNo: number, taskId: number, cell: StoredCell): void {
    this.cells.set(tagNo * TASKS_SPAN + taskId, { ...cell, isBuffered: false, tagNo, taskId });
  }

  remove(revision: number): void {
    this.removedRevisions.push(revision);
    this.head.logRecords -= 1;
  }

  /** The batch is stored: this is what the job is now. */
  apply(): void {
    const { job, row } = this;
    for (const [tag, tagNo] of this.newTags) job.tags.set(tagNo, tag);
    for (const { tagNo, taskId, row: cell } of this.cells.values()) {
      job.places.set(tagNo, taskId, cell.revision);
      job.aggregates.set(taskId, job.tags.nameOf(tagNo) ?? '', cell.status);
    }
    for (const task of this.tasks.values()) {
      job.tasks.set(task.taskId, task);
      job.aggregates.setLost(task.taskId, task.state === 'lost');
    }
    if (this.isRowChanged) job.aggregates.setExpectedTags(row.expectedTags);
    job.row = row;
    job.head = this.head;
    job.isDeleted = this.isDeleted;
    job.retention.note(this.head.revision, this.head.timestampMs, this.recordBytes);
  }

  #stageChanges({ head, changes }: Applied): void {
    this.head.advance(head);
    this.head.logRecords += changes.length;
    for (const change of changes) this.changes.push(change);
  }

  #newTag(tag: string): number {
    const tagNo = this.job.tags.nextNumber + this.newTags.size;
    this.newTags.set(tag, tagNo);
    return tagNo;
  }

  #countFirstWrite(taskId: number, tag: string): void {
    if (this.row.expectedTags.includes(tag)) this.head.expectedWritten += 1;
    if (!this.writers.has(taskId) && !this.job.places.hasWritten(taskId))
      this.head.silentTasks -= 1;
  }

  #expectedWritten(): number {
    const { expectedTags } = this.row;
    let count = 0;
    for (const tag of expectedTags) {
      const tagNo = this.tagNoOf(tag);
      if (tagNo !== undefined) count += this.job.places.writtenCount(tagNo);
    }
    for (const { tagNo, taskId } of this.cells.values()) {
      const isFirst = this.job.places.get(tagNo, taskId) === 0;
      if (isFirst && expectedTags.some((tag) => this.tagNoOf(tag) === tagNo)) count += 1;
    }
    return count;
  }

  #replaced(revision: number): void {
    if (revision > 0 && revision <= this.head.compactedTo) this.remove(revision);
  }
}
