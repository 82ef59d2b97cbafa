// The rows of one transaction: what was read, and over it what the operations of the group have decided so far.
//
// Each operation sees what those before it in the group have done. At the end the documents of the rows that
// changed are written, each once; the job document last of all in revisions, since it carries the head.
import type { DocumentReference, DocumentSnapshot, Transaction } from '@google-cloud/firestore';
import { assert } from '@syncline/kernel';
import type { Applied, JobRows, WrittenTags } from '../core/decision.js';
import type { CellRow, DecidedChange, JobChange, JobRow, TaskRow } from '../core/rows.js';
import { defaultState, type State } from '../state.js';
import { withPayload } from '../wire/state-message.js';
import type { JobDocuments } from './document-refs.js';
import {
  changedMetadataFields,
  headFields,
  type JobRecord,
  metadataCopyFields,
  readJobDocument,
} from './job-document.js';
import { tallyState } from './job-tally.js';
import { readStateDocument, type StateRecord, stateFields } from './state-document.js';
import {
  mustRenew,
  type RenewalRecord,
  readRenewalDocument,
  readTaskDocument,
  renewalFields,
  type TaskRecord,
  taskFields,
} from './task-document.js';

/** The document by which the time of the commit is read back. */
export type CommitAnchor = Readonly<{ document: DocumentReference; revision: number }>;

export class GroupRows {
  /** By Firestore's clock. */
  readonly readAtMs: number;
  /** 0: there is no such job. */
  readonly revisionBefore: number;
  readonly changes: JobChange[] = [];
  readonly #documents: JobDocuments;
  readonly #read: ReadonlyMap<string, DocumentSnapshot>;
  readonly #tasks = new Map<number, TaskRecord | undefined>();
  readonly #cells = new Map<string, StateRecord>();
  readonly #dirtyTasks = new Set<number>();
  readonly #renewed = new Set<number>();
  /** Tasks that had to renew before a transition of this transaction. */
  readonly #renewing = new Set<number>();
  #record: JobRecord | undefined;
  #metadata: 'updated' | 'marked' | undefined;
  #anchor: CommitAnchor | undefined;

  constructor(documents: JobDocuments, snapshots: readonly DocumentSnapshot[]) {
    this.#documents = documents;
    this.#read = new Map(snapshots.map((snapshot) => [snapshot.ref.path, snapshot]));
    const record = readJobDocument(this.#snapshot(documents.job));
    this.#record = record?.isDeleting ? undefined : record;
    this.revisionBefore = this.#record?.head.revision ?? 0;
    this.readAtMs = this.#snapshot(documents.job).readTime.toMillis();
  }

  get job(): (JobRows & Readonly<{ tags: WrittenTags }>) | undefined {
    return this.#record && { ...this.#record, tags: this.#record.tally.tags };
  }

  /** Undefined: nothing changed. */
  get anchor(): CommitAnchor | undefined {
    return this.#anchor;
  }

  task(taskId: number): TaskRow | undefined {
    return this.#taskRecord(taskId)?.task;
  }

  cell(taskId: number, tag: string): CellRow | undefined {
    return this.#stateRecord(taskId, tag)?.cell;
  }

  /** When a revision was committed: `timestampMs`, unless it is of this very transaction. */
  timeOf({ revision, timestampMs }: State, committedAtMs: number): number {
    return revision > this.revisionBefore ? committedAtMs : timestampMs;
  }

  /** The default state if the key was never written. */
  state(taskId: number, tag: string): State {
    const record = this.#stateRecord(taskId, tag);
    return record?.state ?? defaultState(this.#documents.jobId, taskId, tag);
  }

  renewal(taskId: number): RenewalRecord | undefined {
    return readRenewalDocument(this.#snapshot(this.#documents.lease(taskId)));
  }

  keepState(applied: Applied, { cell, state }: Pick<StateRecord, 'cell' | 'state'>): void {
    const { taskId, tag, status, revision } = state;
    const before = this.cell(taskId, tag);
    const task = this.#taskRecord(taskId);
    assert(task !== undefined, 'J13: only a claimed task writes');
    this.#keep(applied, (record) =>
      tallyState(record.tally, {
        tag,
        status,
        statusBefore: before?.status,
        isFirstOfTask: !task.hasWritten,
      }),
    );
    const document = this.#documents.state(taskId, tag);
    this.#cells.set(document.path, { cell, state, incarnation: task.incarnation });
    if (!task.hasWritten) this.#setTask({ ...task, hasWritten: true });
    this.#anchor = { document, revision };
    this.renew(task.task);
  }

  /** `applied` counts the transition; without it the row came with another change. */
  keepTask(applied: Applied | undefined, task: TaskRow): void {
    const before = this.#taskRecord(task.taskId);
    if (before && mustRenew(before.task)) this.#renewing.add(task.taskId);
    this.renew(task);
    const lostBy = Number(task.state === 'lost') - Number(before?.task.state === 'lost');
    const tally = (record: JobRecord) => ({
      ...record.tally,
      lostTasks: record.tally.lostTasks + lostBy,
    });
    const record = applied ? this.#keep(applied, tally) : this.#setTally(tally);
    const { incarnation } = record.job;
    const hasWritten = before?.hasWritten ?? false;
    this.#setTask({ task, incarnation, hasWritten, timestampMs: undefined });
    this.#anchor ??= { document: this.#documents.task(task.taskId), revision: task.revision };
  }

  keepJob(applied: Applied, job: JobRow): void {
    const isMarkedNow = this.#record?.job.deletedAtMs !== job.deletedAtMs;
    const record = this.#keep(applied, ({ tally }) => tally);
    this.#record = { ...record, job };
    this.#metadata = isMarkedNow ? 'marked' : 'updated';
    this.#anchor ??= { document: this.#documents.metadata, revision: job.metadataRevision };
  }

  /** Its time begins anew at the commit, or ends if it is no longer held. */
  renew({ taskId }: TaskRow): void {
    this.#renewed.add(taskId);
  }

  writeTo(transaction: Transaction): void {
    for (const taskId of this.#renewed) {
      const task = this.task(taskId);
      const hadTo = this.#renewing.has(taskId);
      if (task && (mustRenew(task) || hadTo))
        transaction.set(this.#documents.lease(taskId), renewalFields(task));
    }
    if (!this.#record || this.changes.length === 0) return;
    const { job, head, tally } = this.#record;
    for (const taskId of this.#dirtyTasks) {
      const record = this.#taskRecord(taskId);
      if (record) transaction.set(this.#documents.task(taskId), taskFields(record));
    }
    for (const record of this.#cells.values()) {
      const { taskId, tag } = record.state;
      transaction.set(this.#documents.state(taskId, tag), stateFields(record, this.revisionBefore));
    }
    if (this.#metadata)
      transaction.set(this.#documents.metadata, metadataCopyFields(job, this.#metadata));
    transaction.update(this.#documents.job, {
      ...headFields(head, tally),
      ...(this.#metadata ? changedMetadataFields(job, this.#metadata === 'marked') : {}),
    });
  }

  #keep(applied: Applied, tally: (record: JobRecord) => JobRecord['tally']): JobRecord {
    const record = this.#setTally(tally);
    this.#record = { ...record, head: applied.head };
    for (const change of applied.changes) this.changes.push(parsedChange(change));
    return this.#record;
  }

  #setTally(tally: (record: JobRecord) => JobRecord['tally']): JobRecord {
    assert(this.#record !== undefined, 'only what exists changes');
    this.#record = { ...this.#record, tally: tally(this.#record) };
    return this.#record;
  }

  #setTask(record: TaskRecord): void {
    this.#tasks.set(record.task.taskId, record);
    this.#dirtyTasks.add(record.task.taskId);
  }

  #taskRecord(taskId: number): TaskRecord | undefined {
    if (!this.#tasks.has(taskId)) {
      const record = readTaskDocument(this.#snapshot(this.#documents.task(taskId)));
      this.#tasks.set(taskId, this.#isOfJob(record) ? record : undefined);
    }
    return this.#tasks.get(taskId);
  }

  #stateRecord(taskId: number, tag: string): StateRecord | undefined {
    const document = this.#documents.state(taskId, tag);
    const kept = this.#cells.get(document.path);
    if (kept) return kept;
    const record = readStateDocument(this.#documents.jobId, this.#snapshot(document));
    return this.#isOfJob(record) ? record : undefined;
  }

  #isOfJob(record: { readonly incarnation: string } | undefined): boolean {
    return record?.incarnation === this.#record?.job.incarnation;
  }

  #snapshot(document: DocumentReference): DocumentSnapshot {
    const snapshot = this.#read.get(document.path);
    assert(snapshot !== undefined, 'an operation names the documents that it reads');
    return snapshot;
  }
}

function parsedChange(change: DecidedChange): JobChange {
  return change.kind === 'state' ? { ...change, state: withPayload(change.state) } : change;
}
