// A listener's view of one incarnation of a job: the latest change of each key as of the last snapshot.
//
// A Firestore snapshot contains everything that was committed up to its time; nothing older follows. Two documents may
// be committed in the same microsecond: they are ordered by id, and the second one counts as one microsecond later, so
// that revisions rise strictly.
import type { DocumentSnapshot } from '@google-cloud/firestore';
import { type JobRow, jobInfoOf, leaseOf, type TaskRow } from '../core/rows.js';
import { type Cell, progressOf } from '../engine/cell-counts.js';
import {
  changeTopics,
  decodeStoredState,
  type JobFilter,
  jobChange,
  leaseChange,
  matchesFilter,
  type StoredChange,
  stateChange,
} from '../engine/changes.js';
import type { JobProgress } from '../engine/checked-job-store.js';
import { JobCells } from '../engine/job-cells.js';
import type { JobFeedView } from '../engine/job-feed.js';
import { lostOf } from '../engine/job-reads.js';
import type { JobHead } from '../engine/store-adapter.js';
import { defaultState, type JobInfo, type Scope } from '../job.js';
import { jobsLimits } from '../limits.js';
import {
  commitOf,
  JOB_COPY,
  millisOf,
  mustRenew,
  readJob,
  readState,
  readTask,
} from './job-documents.js';

/** Approximate overhead of a change, excluding its bytes. */
const CHANGE_BYTES = 300;

export class JobPicture {
  readonly cells: JobCells;
  readonly tasks = new Map<number, TaskRow>();
  readonly #seen = new Map<string, { readonly commit: number; readonly version: number }>();
  /** By narrowest topic, in order of revision. */
  readonly #latest = new Map<string, StoredChange>();
  #row: JobRow;
  #revision = 0;
  #commit = 0;
  #bytes = 0;
  #skippedVersions = 0;

  constructor(row: JobRow) {
    this.#row = row;
    this.cells = new JobCells(row);
  }

  /** Built from all documents in `states`. Undefined if the job does not exist. */
  static of(documents: readonly DocumentSnapshot[]): JobPicture | undefined {
    const metadata = documents.find(({ id }) => id === JOB_COPY);
    const job = metadata && readJob(metadata);
    const picture = job && new JobPicture(job.row);
    picture?.apply(documents);
    return picture;
  }

  get row(): JobRow {
    return this.#row;
  }

  get revision(): number {
    return this.#revision;
  }

  /** The latest commit seen. */
  get commit(): number {
    return this.#commit;
  }

  get head(): JobHead {
    const counts = this.cells.recount();
    return { ...this.#moment, compactedTo: 0, logRecords: 0, counts };
  }

  get info(): JobInfo {
    return jobInfoOf(this.#row, this.#moment);
  }

  get bytes(): number {
    return this.#bytes + this.cells.bytes;
  }

  /** Infinity if no lease can expire. */
  get shortestTtlMs(): number {
    let shortest = Number.POSITIVE_INFINITY;
    for (const task of this.tasks.values())
      if (mustRenew(task)) shortest = Math.min(shortest, task.ttlMs);
    return shortest;
  }

  /** Returns the new changes, in order of revision. */
  apply(documents: readonly DocumentSnapshot[]): readonly StoredChange[] {
    const newer = documents
      .filter((document) => commitOf(document) > (this.#seen.get(document.id)?.commit ?? 0))
      .sort((a, b) => commitOf(a) - commitOf(b) || (a.id < b.id ? -1 : 1));
    return newer.flatMap((document) => {
      const revision = Math.max(commitOf(document), this.#revision + 1);
      const change = this.#take(document, revision);
      if (!change) return [];
      const key = changeTopics(change)[0] ?? '';
      this.#bytes += change.bytes.length - (this.#latest.get(key)?.bytes.length ?? -CHANGE_BYTES);
      this.#latest.delete(key); // moves it to the end
      this.#latest.set(key, change);
      this.#revision = revision;
      return [change];
    });
  }

  /** The number of versions overwritten before this picture saw them, since the last call. */
  takeSkipped(): number {
    const skipped = this.#skippedVersions;
    this.#skippedVersions = 0;
    return skipped;
  }

  /** The State message of a cell; undefined if it was never written. */
  state(taskId: number, tag: string): Uint8Array | undefined {
    return this.#latest.get(changeTopics({ kind: 'state', taskId, tag })[0] ?? '')?.bytes;
  }

  progress(scope: Scope): JobProgress {
    const { head, row } = this;
    const { jobId } = row;
    const stateOf = ({ taskId, tag }: Cell) => {
      const bytes = this.state(taskId, tag);
      return bytes ? decodeStoredState(bytes, jobId) : defaultState(jobId, taskId, tag);
    };
    const summary = this.cells.summary(scope);
    const progress = progressOf(head.revision, summary, stateOf);
    return { job: this.info, progress, lost: lostOf(this) };
  }

  view(filter: JobFilter): JobFeedView {
    const all = [...this.#latest.values()].filter((change) => matchesFilter(filter, change));
    const pages = (after: number) => pagesOf(all.filter(({ revision }) => revision > after));
    return { revision: this.#revision, compactedTo: 0, latest: pages, changes: pages, close() {} };
  }

  get #moment() {
    return { revision: this.#revision, timestampMs: millisOf(this.#revision) };
  }

  /** Undefined if the document belongs to another incarnation. */
  #take(document: DocumentSnapshot, revision: number): StoredChange | undefined {
    const { id } = document;
    const isState = id.includes('-');
    const read = id === JOB_COPY ? readJob : isState ? readState : readTask;
    const record = read(document, revision);
    if (record?.incarnation !== this.#row.incarnation) return undefined;
    const [{ version }] = record.recent;
    const before = this.#seen.get(id)?.version;
    if (before !== undefined) this.#skippedVersions += version - before - 1;
    this.#commit = Math.max(this.#commit, commitOf(document));
    this.#seen.set(id, { commit: commitOf(document), version });
    const timestampMs = millisOf(revision);
    if ('state' in record) {
      const { state } = record;
      this.cells.set(state, state.status, state.progress);
      return stateChange(state);
    }
    if ('isDeleting' in record) {
      this.#row = record.row;
      this.cells.setExpectedTags(record.row.expectedTags);
      return jobChange(jobInfoOf(record.row, { revision, timestampMs }));
    }
    const { row } = record;
    this.tasks.set(row.taskId, row);
    this.cells.setLost(row.taskId, row.state === 'lost');
    return leaseChange(leaseOf(row, timestampMs), timestampMs);
  }
}

async function* pagesOf(changes: readonly StoredChange[]) {
  const { value: pageMax } = jobsLimits.listStatesMax;
  for (let at = 0; at < changes.length; at += pageMax) yield changes.slice(at, at + pageMax);
}
