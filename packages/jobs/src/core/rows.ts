// What every store keeps, whatever its form: one row per job, task and cell, and a log of changes.
//
// The core decides by rows (values in, rows out) and never reads or writes. A store looks the rows up in one
// atomic step, hands them in with the time, and keeps what comes out in one atomic step.
import type { JobInfo, Labels, LeaseState, TaskLease } from '../job.js';
import type { State } from '../state.js';
import type { StoredState } from '../wire/state-message.js';

/** Metadata of one incarnation. */
export type JobRow = Readonly<{
  jobId: string;
  incarnation: string;
  numTasks: number;
  expectedTags: readonly string[];
  labels: Labels;
  createdAtMs: number;
  deletedAtMs?: number;
  /** The revision of its latest metadata write. */
  metadataRevision: number;
}>;

/** What moves with every change of a job. */
export type HeadRow = Readonly<{
  revision: number;
  /** Of the last change; the next one's is not lower. */
  timestampMs: number;
  /** Distinct keys that were written. */
  statesCount: number;
}>;

export type TaskRow = Readonly<{
  taskId: number;
  epoch: number;
  state: LeaseState;
  ttlMs: number;
  holder: string;
  /** The revision of its last transition. */
  revision: number;
}>;

/** A write that is remembered by its event id. */
export type RecentWrite = Readonly<{
  eventId: string;
  version: number;
  revision: number;
  timestampMs: number;
  /** Of status, message, payload and schema version. */
  digest: string;
}>;

export type CellRow = Readonly<{
  version: number;
  /** The revision of its latest change. */
  revision: number;
  status: number;
  /** 0 if the write carried none. */
  progress: number;
  /** Newest first, at most `recentEventIdsMax`; the first is the latest write. */
  recent: readonly RecentWrite[];
}>;

/** What a decision changes. */
export type DecidedChange = JobChange<StoredState>;

/** One committed change, as programs see it. */
export type JobChange<S = State> =
  | Readonly<{ kind: 'state'; revision: number; timestampMs: number; state: S }>
  | Readonly<{ kind: 'lease'; revision: number; timestampMs: number; lease: TaskLease }>
  | Readonly<{ kind: 'job'; revision: number; timestampMs: number; job: JobInfo }>;
