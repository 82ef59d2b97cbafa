// A job, its leases, its states, and their progress, as users see them.
import type { StandardSchemaV1 } from '@standard-schema/spec';

export type Labels = Readonly<Record<string, string>>;

export type JobInfo = Readonly<{
  jobId: string;
  /** Opaque; letters, digits and dashes. A job that is deleted and recreated gets a new one. */
  incarnation: string;
  numTasks: number;
  /** Tags that every task will write, sorted by bytes. */
  expectedTags: readonly string[];
  labels: Labels;
  createdAtMs: number;
  /** When the job was marked as deleted. Reads still work, writes are refused. */
  deletedAtMs?: number;
  /** The last committed revision of the job; in a `job` event, the revision of the event. */
  revision: number;
  changedAtMs: number;
}>;

/** A given field replaces the previous value as a whole; an omitted field stays unchanged. */
export type JobPatch = Readonly<{ labels?: Labels; expectedTags?: readonly string[] }>;

export type JobSpec = Readonly<{ jobId: string; numTasks: number }> & JobPatch;

export type JobQuery = Readonly<{
  prefix?: string;
  /** Only jobs whose most severe cell is in this class. */
  worst?: StatusClass;
  afterJobId?: string;
  /** Default and maximum: `listJobsMax`. */
  limit?: number;
}>;

export type JobSummary = Readonly<{
  job: JobInfo;
  cells: Counts;
  /** As in `Progress`. */
  percent: number;
  lostTasks: number;
}>;

/** A page of jobs, in order of id. */
export type JobList = Readonly<{
  jobs: readonly JobSummary[];
  /** Ids of jobs on this page whose metadata cannot be read, regardless of `worst`. They can be deleted. */
  damaged?: readonly string[];
  /** The `afterJobId` of the next page. */
  next?: string;
}>;

export type LeaseState = 'held' | 'released' | 'lost';

export type TaskLease = Readonly<{
  taskId: number;
  /** Rises with each claim, and is never issued twice within an incarnation. */
  epoch: number;
  state: LeaseState;
  /** 0: never expires. */
  ttlMs: number;
  /** By the store's wall clock; 0 if it never expires or is not held. For display only: no decision depends on it. */
  expiresAtMs: number;
  holder: string;
  /** The revision of its last transition. */
  revision: number;
}>;

export type LeaseRequest = Readonly<{
  jobId: string;
  incarnation: string;
  taskId: number;
  action: 'claim' | 'renew' | 'release';
  /** Ignored by `claim`. */
  epoch: number;
  ttlMs: number;
  holder: string;
}>;

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

export type JsonObject = { readonly [name: string]: JsonValue };

export type SchemaIssue = StandardSchemaV1.Issue;

export type State<P = JsonObject> = Readonly<{
  jobId: string;
  taskId: number;
  tag: string;
  status: number;
  statusClass: StatusClass;
  /** The name of this status, if the manager or reader has `statuses`. Names are local to the process. */
  statusName?: string;
  message: string;
  /** Progress of this cell, from 0 to 1, if its writer reports it. */
  progress?: number;
  /** By the store's clock. Never decreases as the revision rises. */
  timestampMs: number;
  /** Per task and tag: 1, 2, 3 … */
  version: number;
  /** Per job: 1, 2, 3 … */
  revision: number;
  eventId: string;
  schemaVersion: number;
  payload?: P;
  /** Why `payload` is missing although there is a stored one. */
  payloadIssues?: readonly SchemaIssue[];
  /** The stored payload, if it could not be read because of `payloadIssues`. */
  rawPayload?: JsonObject;
}>;

/** Selects cells: one, those of a task, those of a tag, or all. */
export type Scope = Readonly<{ taskId?: number; tag?: string }>;

export type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** The state of a cell that was never written. Used only in aggregates, never in a stream. */
export function defaultState(jobId: string, taskId: number, tag: string): State {
  // Written states are made by filling this in: the same fields in the same order are fast to read.
  return {
    jobId,
    taskId,
    tag,
    status: 0,
    statusClass: statusClass(0),
    message: '',
    timestampMs: 0,
    version: 0,
    revision: 0,
    eventId: '',
    schemaVersion: 1,
  };
}

/** For lists of states whose size would be dominated by payloads. */
export function withoutPayload<S extends object>(state: S): S {
  const { payload: _, payloadJson: __, ...rest } = state as Record<string, unknown>;
  return rest as S;
}

export function mapProgress<A, B>(
  progress: Progress<A>,
  map: (state: A) => B,
  mapOfTag: (state: A) => B = map,
): Progress<B> {
  const { lowest, worst } = progress;
  const tags = progress.tags.map((row) => {
    return { ...row, lowest: mapOfTag(row.lowest), worst: mapOfTag(row.worst) };
  });
  return { ...progress, lowest: map(lowest), worst: map(worst), tags };
}

/** ≤ −3 failed, −2 warned, −1 failed, 0 not started, 1 … 2147483646 running, 2147483647 finished: a public contract. */
export const JobStatus = {
  notStarted: 0,
  started: 1,
  finished: 2_147_483_647,
  error: -1,
  warning: -2,
} as const;

export type StatusClass = 'not-started' | 'running' | 'finished' | 'warned' | 'failed';

/** From the most to the least severe. */
export const STATUS_CLASSES = [
  'failed',
  'warned',
  'not-started',
  'running',
  'finished',
] as const satisfies readonly StatusClass[];

export function statusClass(status: number): StatusClass {
  if (status === JobStatus.finished) return 'finished';
  if (status > JobStatus.notStarted) return 'running';
  if (status === JobStatus.notStarted) return 'not-started';
  return status === JobStatus.warning ? 'warned' : 'failed';
}

/** The lower number sorts first: `getState` returns it. */
export function compareStatus(a: number, b: number): number {
  return a - b;
}

/** Sorts by severity, and within a class by number: the status itself, except that −1 and −2 are swapped. */
export function severityOf(status: number): number {
  if (status === JobStatus.warning) return JobStatus.error;
  return status === JobStatus.error ? JobStatus.warning : status;
}

export type Counts = Readonly<{
  notStarted: number;
  running: number;
  finished: number;
  warned: number;
  failed: number;
  total: number;
}>;

export type TagProgress<S = State> = Readonly<{
  tag: string;
  cells: Counts;
  percent: number;
  lowest: S;
  worst: S;
}>;

export type Progress<S = State> = Readonly<{
  revision: number;
  cells: Counts;
  /** The mean of the cells' `progress`, 1 if finished. Rounded down to a tenth; 100 only when all are finished. */
  percent: number;
  lostTasks: number;
  /** The state with the lowest status: what `getState` returns. */
  lowest: S;
  /** The most severe state, in the order failed, warned, not started, running, finished. */
  worst: S;
  /**
   * For each known tag, the progress of the scope narrowed to that tag, sorted by the bytes of the tag. These states
   * have no payload: with 256 tags they would take 32 MiB. Request the progress of a tag to get them.
   */
  tags: readonly TagProgress<S>[];
}>;

/**
 * Compares tags by UTF-8 bytes, without encoding. Code units sort like the bytes, except that surrogates, which encode
 * characters above U+FFFF, must come after the units U+E000 to U+FFFF.
 */
export function compareTags(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return weightOf(left) - weightOf(right);
  }
  return a.length - b.length;
}

function weightOf(codeUnit: number): number {
  if (codeUnit < 0xd800) return codeUnit;
  return codeUnit < 0xe000 ? codeUnit + 0x2000 : codeUnit - 0x800;
}
