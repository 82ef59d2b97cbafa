// JobStore: where jobs live. Implementations: memory, embedded, remote (`./grpc`) and Firestore (`./firestore`);
// all run the same conformance suite, `jobStoreSuite` in ./testing.
import type { Durability } from '@syncline/kernel';
import type {
  JobInfo,
  JobList,
  JobPatch,
  JobQuery,
  JobSpec,
  LeaseRequest,
  TaskLease,
} from './job.js';
import type { History, JobSubscription, StoreSubscribeOptions } from './job-event.js';
import type { JobsMetrics } from './metrics-list.js';
import type { Progress } from './progress.js';
import type { JsonObject, Scope, State } from './state.js';

export type StoreCapabilities = Readonly<{
  history: History;
  /** `cached`: reads are monotonic and see one's own writes, but may be behind those of others. */
  reads: 'linearizable' | 'cached';
  durability: 'none' | Durability;
  /** Who declares a lease lost: the store itself, or whoever listens. */
  lost: 'store' | 'reader';
}>;

/** The last parameter of every call. */
export type CallOptions = Readonly<{ signal?: AbortSignal }>;

/** Of a call that concerns a whole job. */
export type JobCallOptions = CallOptions &
  Readonly<{
    /** The job that is meant: one that was created anew since under its name is `fenced`. Default: any. */
    incarnation?: string;
  }>;

/** Of `deleteJob`. */
export type DeleteOptions = JobCallOptions &
  Readonly<{
    /** The job goes only if it is at this revision, else `conflict`. Default: at any. */
    ifRevision?: number;
  }>;

export type StateWrite = Readonly<{
  jobId: string;
  incarnation: string;
  taskId: number;
  epoch: number;
  tag: string;
  status: number;
  message: string;
  /** How far the cell is, from 0 to 1. */
  progress?: number;
  payload?: JsonObject | undefined;
  schemaVersion: number;
  eventId: string;
  /** The write applies only if the key has this version; 0: only if it was never written. */
  ifVersion?: number;
  /** Default `synced`. */
  durability?: Durability;
}>;

export type SetStateResult =
  | { readonly applied: true; readonly duplicate: boolean; readonly state: State }
  /** `current` is the default state if the key was never written. */
  | { readonly applied: false; readonly reason: 'version'; readonly current: State };

export type StatePage = Readonly<{
  states: readonly State[];
  /** The page holds all in scope above `afterRevision` up to here. Go on with it as `afterRevision`. */
  revision: number;
  incarnation: string;
  more: boolean;
}>;

export interface JobStore extends AsyncDisposable {
  readonly capabilities: StoreCapabilities;
  /** Who hears of writes, refusals and subscriptions. A manager with the same observer leaves them to the store. */
  readonly observer?: JobsMetrics;
  /** Atomic get-or-create: of concurrent creators exactly one sees `created`. */
  createJob(
    spec: JobSpec,
    call?: CallOptions,
  ): Promise<{ readonly job: JobInfo; readonly created: boolean }>;
  getJob(jobId: string, call?: CallOptions): Promise<JobInfo | undefined>;
  listJobs(query: JobQuery, call?: CallOptions): Promise<JobList>;
  updateJob(jobId: string, patch: JobPatch, call?: JobCallOptions): Promise<JobInfo>;
  /** A tombstone: writes are refused, reads go on. Marking twice changes nothing. */
  markJobDeleted(jobId: string, call?: JobCallOptions): Promise<JobInfo>;
  /** False: there was none. */
  deleteJob(jobId: string, call?: DeleteOptions): Promise<boolean>;
  lease(request: LeaseRequest, call?: CallOptions): Promise<TaskLease>;
  setState(write: StateWrite, call?: CallOptions): Promise<SetStateResult>;
  /** The latest state of each key in scope, ascending by revision. What is rewritten between two pages moves to a later one. */
  listStates(
    jobId: string,
    scope: Scope,
    page: { readonly afterRevision: number; readonly limit: number },
    call?: CallOptions,
  ): Promise<StatePage>;
  getState(
    jobId: string,
    taskId: number,
    tag: string,
    call?: CallOptions,
  ): Promise<State | undefined>;
  aggregate(jobId: string, scope: Scope, call?: CallOptions): Promise<Progress>;
  /** Tasks whose lease is lost, at most `lostListMax`, by task. */
  listLost(jobId: string, call?: CallOptions): Promise<readonly TaskLease[]>;
  /** Throws at the first pull what is wrong with the options or the job. */
  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription;
  /** Ends subscriptions and waiting calls. A second call does nothing. */
  close(): Promise<void>;
}
