// JobStore: stores jobs. Implementations: memory, embedded, remote (`./grpc`), PostgreSQL (`./postgres`) and Firestore.
// All run the same conformance suite, `jobStoreSuite` in ./testing.
import { type Durability, SynclineError } from '@syncline/kernel';
import type {
  JobInfo,
  JobList,
  JobPatch,
  JobQuery,
  JobSpec,
  JsonObject,
  LeaseRequest,
  Progress,
  Scope,
  State,
  TaskLease,
} from './job.js';
import type { JobsMetrics } from './metrics-list.js';

export type StoreCapabilities = Readonly<{
  history: History;
  /** `cached`: reads are monotonic and see the caller's own writes, but may lag behind those of others. */
  reads: 'linearizable' | 'cached';
  durability: 'none' | Durability;
  /** Who declares a lease lost: the store itself, or each reader. */
  lost: 'store' | 'reader';
}>;

export const ALL_CAPABILITIES: StoreCapabilities = {
  history: 'all',
  reads: 'linearizable',
  durability: 'synced',
  lost: 'store',
};

/** The last parameter of every call. */
export type CallOptions = Readonly<{
  signal?: AbortSignal | undefined;
  /** The caller times this call and counts its failure; a store with the same observer then does not. */
  observer?: JobsMetrics;
}>;

export type JobCallOptions = CallOptions &
  Readonly<{
    /** The expected incarnation: if the job has been recreated since, the write is `fenced`. Default: any. */
    incarnation?: string | undefined;
  }>;

export type DeleteOptions = JobCallOptions &
  Readonly<{
    /** Deletes the job only if it is at this revision; otherwise `conflict`. Default: any revision. */
    ifRevision?: number | undefined;
  }>;

export type StateWrite = Readonly<{
  jobId: string;
  incarnation: string;
  taskId: number;
  epoch: number;
  tag: string;
  status: number;
  message: string;
  /** Progress of the cell, from 0 to 1. */
  progress?: number;
  payload?: JsonObject | undefined;
  schemaVersion: number;
  eventId: string;
  /** The write applies only if the key has this version; with 0, only if it was never written. */
  ifVersion?: number;
  /** Default `synced`. */
  durability?: Durability;
}>;

export type Written<S = State> = Readonly<{
  applied: true;
  /** The write was a retry that had already been applied. */
  duplicate: boolean;
  state: S;
}>;

/** If `ifVersion` did not match, `current` is the state of the key, or the default state if it was never written. */
export type SetStateResult<S = State> =
  | Written<S>
  | Readonly<{ applied: false; reason: 'version'; current: S }>;

export type CreatedJob = Readonly<{ job: JobInfo; created: boolean }>;

export type PageBounds = Readonly<{ afterRevision: number; limit: number }>;

export type StatePage = Readonly<{
  states: readonly State[];
  /** The page is complete from `afterRevision` up to this revision. Pass it as `afterRevision` for the next page. */
  revision: number;
  incarnation: string;
  more: boolean;
}>;

export interface JobStore extends AsyncDisposable {
  readonly capabilities: StoreCapabilities;
  /** Receives metrics of writes, refusals and subscriptions. A manager with the same observer does not report them. */
  readonly observer?: JobsMetrics;
  /** Atomic get-or-create: if called concurrently, exactly one caller gets `created`. */
  createJob(spec: JobSpec, call?: CallOptions): Promise<CreatedJob>;
  getJob(jobId: string, call?: CallOptions): Promise<JobInfo | undefined>;
  listJobs(query: JobQuery, call?: CallOptions): Promise<JobList>;
  updateJob(jobId: string, patch: JobPatch, call?: JobCallOptions): Promise<JobInfo>;
  /** Sets a tombstone: writes are refused, reads still work. Marking twice changes nothing. */
  markJobDeleted(jobId: string, call?: JobCallOptions): Promise<JobInfo>;
  /** False if the job did not exist. */
  deleteJob(jobId: string, call?: DeleteOptions): Promise<boolean>;
  lease(request: LeaseRequest, call?: CallOptions): Promise<TaskLease>;
  setState(write: StateWrite, call?: CallOptions): Promise<SetStateResult>;
  /** The latest state of each key in scope, by revision. A state rewritten between two pages moves to a later page. */
  listStates(jobId: string, scope: Scope, page: PageBounds, call?: CallOptions): Promise<StatePage>;
  getState(
    jobId: string,
    taskId: number,
    tag: string,
    call?: CallOptions,
  ): Promise<State | undefined>;
  aggregate(jobId: string, scope: Scope, call?: CallOptions): Promise<Progress>;
  /** Leases that are lost, at most `lostListMax`, ordered by task. */
  listLost(jobId: string, call?: CallOptions): Promise<readonly TaskLease[]>;
  /** Invalid options or a missing job are reported on the first pull. */
  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription;
  /** Ends subscriptions and waiting calls. A second call does nothing. */
  close(): Promise<void>;
}

// What a subscriber receives: snapshot* synced (change | gap | stale | live)*. SPEC.md describes the grammar.

/** Where to resume. Opaque: pass the cursor of an event. */
export type Cursor = string & { readonly __brand: 'JobCursor' };

/** `all`: every revision within retention is delivered. `latest`: overwritten versions may be skipped. */
export type History = 'all' | 'latest';

export type GapReason = 'overflow' | 'compacted' | 'reset' | 'deleted';

export type JobEvent<S = State> = Readonly<
  | { kind: 'snapshot'; state: S; cursor: Cursor }
  | { kind: 'synced'; revision: number; cursor: Cursor; history: History; resumed: boolean }
  | { kind: 'change'; state: S; cursor: Cursor }
  | { kind: 'gap'; reason: GapReason; fromRevision: number; toRevision: number }
  /** The store has been unreachable since this wall-clock time. The subscriber's data may be outdated until `live`. */
  | { kind: 'stale'; sinceMs: number; attempt: number }
  /** Caught up: everything in scope up to `revision` has been delivered. */
  | { kind: 'live'; revision: number; cursor: Cursor }
  | { kind: 'lease'; lease: TaskLease; cursor: Cursor }
  | { kind: 'job'; job: JobInfo; cursor: Cursor }
>;

/** What to do when a subscriber is too slow for its buffer. */
export type Overflow = 'block' | 'coalesce' | 'fail';

export type StoreSubscribeOptions = Readonly<{
  scope: Scope;
  after?: Cursor | undefined;
  include?: readonly ('lease' | 'job')[];
  /** Default `block`. */
  overflow?: Overflow;
  /** Default: 256 events, 1 MiB. */
  buffer?: Readonly<{ maxEvents?: number; maxBytes?: number }>;
  /** Ends the subscription without an error and drops buffered events. */
  signal?: AbortSignal | undefined;
}>;

/** Can be read once, by event or by batch. Leaving the loop ends it. */
export interface JobSubscription<E = JobEvent> extends AsyncIterable<E>, AsyncDisposable {
  /** The same events, up to `max` at a time; a batch is never empty and never waits to be full. */
  batches(max?: number): AsyncIterable<readonly E[]>;
  /** Where to resume after the last delivered event. Before the first one it is `after`, if given. */
  readonly cursor: Cursor | undefined;
}

// The format of a cursor: `base:revision`, with `~` at the end during a replay. With a cursor of another base, that is, of
// another incarnation or of a history that was lost, a subscription starts over.

export type CursorParts = Readonly<{
  base: string;
  revision: number;
  /** Only part of the replay was delivered: up to `revision`. */
  isReplaying: boolean;
}>;

const CURSOR = /^([A-Za-z0-9-]{1,128}):(0|[1-9][0-9]{0,15})(~?)$/;

export function formatCursor(base: string, revision: number, isReplaying = false): Cursor {
  return `${base}:${revision}${isReplaying ? '~' : ''}` as Cursor;
}

/** Throws `invalid-argument` with `details.field` = `after` if the cursor is malformed. */
export function parseCursor(text: string): CursorParts {
  const [, base, digits, mark] = CURSOR.exec(text) ?? [];
  const revision = Number(digits);
  if (base !== undefined && Number.isSafeInteger(revision))
    return { base, revision, isReplaying: mark === '~' };
  const shown = JSON.stringify(String(text).slice(0, 64));
  const message = `the cursor ${shown} is malformed. Pass the cursor of an event unchanged, or none to start from the beginning.`;
  throw new SynclineError('invalid-argument', message, { details: { field: 'after' } });
}
