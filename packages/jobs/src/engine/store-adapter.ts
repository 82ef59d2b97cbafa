// The adapter interface of the store kit: what a database must provide for the engine to build a job store on it.
//
// An adapter makes no decisions. There are two kinds:
//
//   exclusive   Only this process writes. A commit may change many jobs, and one commit is in flight at a time.
//   shared      Other processes write the same jobs. A commit changes one job: the adapter locks it, passes in what the
//               engine has not seen yet, lets it decide, and stores the result in the same transaction. Commits of
//               different jobs run in parallel. For one job, the engine runs one commit or one `changesAfter` at a time.
import * as kernel from '@syncline/kernel';
import type { CellRow, JobRow, TaskRow } from '../core/rows.js';
import type { LeaseRequest } from '../job.js';
import type { StoreCapabilities } from '../job-store.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { CellCounts } from './cell-counts.js';
import type { ChangeKind, ChangeSubject, JobFilter, StoredChange } from './changes.js';

/** Updated with every change of a job. */
export type JobHead = Readonly<{
  revision: number;
  /** Timestamp of the last change; the next one is never lower. */
  timestampMs: number;
  /** Changes up to here are stored only if they are the latest of their key. */
  compactedTo: number;
  logRecords: number;
  counts: CellCounts;
}>;

export type CellRef = Readonly<{ taskId: number; tag: string; revision: number }>;

/** A cell as the engine keeps it in memory: everything but its message, payload and event ids. */
export type CellPlace = CellRef & Pick<CellRow, 'version' | 'status' | 'progress'>;

/** A consistent read of all rows of a job, except its changes. */
export interface JobRows<Handle = unknown> {
  readonly row: JobRow;
  readonly head: JobHead;
  readonly tasks: Iterable<TaskRow>;
  readonly cells: Iterable<CellPlace>;
  /** What the adapter needs to find the job again; the engine keeps it and passes it back. */
  readonly handle: Handle;
  /** Rows that cannot be read. The rest of the job stays usable. */
  readonly damage?: readonly DamagedRow[];
}

/** The row of a cell or of a task. `tag` is undefined if the name of the tag is damaged too. */
export type DamagedRow = Readonly<{
  kind: 'state' | 'lease';
  taskId: number;
  tag: string | undefined;
  error: kernel.SynclineError;
}>;

/** A job that the engine holds in memory, as an adapter sees it. */
export interface MirroredJob<Handle = unknown>
  extends Pick<JobRows<Handle>, 'row' | 'head' | 'handle'> {
  /** The revision of the latest committed change of this subject; 0 if there is none. Throws `corrupt`. */
  latestRevision(kind: ChangeKind, taskId: number, tag: string): number;
  /** The changed cells, leases and metadata that match a filter, in no particular order. Throws `corrupt`. */
  subjects(filter: JobFilter): Iterable<ChangeSubject>;
}

export interface JobCommit<Handle = unknown> {
  readonly kind: 'create' | 'change' | 'delete';
  /** The handle of the loaded job; undefined for `create`. A value set by the adapter applies once the commit is stored. */
  handle: Handle | undefined;
  readonly row: JobRow;
  readonly isRowChanged: boolean;
  readonly head: JobHead;
  readonly tasks: ReadonlyMap<number, TaskRow>;
  readonly cells: ReadonlyMap<string, CellCommit>;
  /** In order of revision; the last one has `head.revision`. */
  readonly changes: readonly StoredChange[];
  /** Changes that were replaced and are outside retention. */
  readonly removed: readonly RemovedChange[];
  /** Tasks that wrote a state, which renews their leases. */
  readonly writers: ReadonlySet<number>;
}

export type CellCommit = Readonly<{ taskId: number; tag: string; row: CellRow }>;

export type RemovedChange = ChangeSubject & Readonly<{ revision: number }>;

export type Commit<Handle = unknown> = Readonly<{
  jobs: readonly JobCommit<Handle>[];
  /** `synced` if any write in it requires that. */
  durability: kernel.Durability;
  /** Whether all earlier commits must become as durable as `synced`, too. There may then be no jobs. */
  securesEarlier: boolean;
}>;

/** A cell that `decide` will read, and whether it may need the state too. */
export type WantedCell = Readonly<{ taskId: number; tag: string; withState: boolean }>;

/** What the engine is about to write, so that a shared adapter can lock the job and read the rows in advance. */
export type CommitRequest = Readonly<{
  jobId: string;
  /** The job as the engine has it in memory; undefined if it is not loaded. */
  known: MirroredJob | undefined;
  cells: readonly WantedCell[];
  /** Tasks for which `isOverdue` will be called. */
  overdue: readonly number[];
}>;

/** What happened to a job since the engine last saw it. */
export type Since<Handle = unknown> =
  /** All changes after `known.head.revision`, ascending. */
  | (Readonly<{ kind: 'changes'; changes: readonly StoredChange[] }> &
      Pick<JobHead, 'compactedTo' | 'logRecords'>)
  /** If the job is not loaded, was recreated or deleted, or changes that the engine has not seen were removed. */
  | Readonly<{ kind: 'rows'; rows: JobRows<Handle> | undefined }>;

export interface CommitRows<Handle = unknown> {
  /** Shared adapters only: the number of jobs in the store, if one may be created. */
  readonly jobsCount?: number;
  readonly since?: Since<Handle>;
  /** The row of a written cell. Throws `corrupt`. */
  cell(job: MirroredJob<Handle>, taskId: number, tag: string): CellRow | undefined;
  /** The State message of a written cell. Throws `corrupt`. */
  state(job: MirroredJob<Handle>, taskId: number, tag: string): Uint8Array;
  /** Shared adapters that watch leases: whether this lease has expired, by the database's clock. */
  isOverdue?(taskId: number): boolean;
}

export type Decide<Handle = unknown> = (rows: CommitRows<Handle>) => Commit<Handle> | undefined;

export type ChangePages = AsyncIterable<readonly StoredChange[]>;

/** A consistent view of the changes that match a filter. Reads are in order of revision, in pages of bounded size. */
export interface StoreView {
  readonly revision: number;
  /** Changes up to here may be missing from `changes`, never from `latest`. */
  readonly compactedTo: number;
  /** The latest change of each key, each lease and the metadata, if it is after `after`. */
  latest(after: number): ChangePages;
  /** All changes after `after`, which is at least `compactedTo`. On damage, calls `onDamaged` or throws `corrupt`. */
  changes(after: number, onDamaged?: (revision: number) => void): ChangePages;
  close(): void;
}

/** Jobs whose ids start with `prefix` and sort after `after`. */
export type JobRange = Readonly<{ prefix: string; after: string }>;

/** A job, or the id of a job whose metadata cannot be read. */
export type ListedJob = Pick<JobRows, 'row' | 'head'> | Readonly<{ damagedJobId: string }>;

export type LeaseRef = Pick<LeaseRequest, 'jobId' | 'incarnation' | 'taskId' | 'epoch'>;

/** What an adapter finds at startup. */
export type StoreStart = Readonly<{
  jobsCount: number;
  logRecords: number;
  /** Part of every cursor unless 0. Raised when revisions that a cursor may contain may have been lost. */
  generation: number;
  /** Exclusive adapters: leases that were held. Each gets a full TTL. */
  heldLeases: readonly (LeaseRef & { readonly ttlMs: number })[];
}>;

/** What the engine provides to an adapter. */
export interface AdapterHost {
  /** Call it when another process has committed: the job has reached this revision, or is gone. */
  wake(jobId: string, revision?: number): void;
  /** Jobs with subscribers, and the last revision that the engine has seen of each. */
  followed(): readonly Readonly<{ jobId: string; incarnation: string; revision: number }>[];
  /** Call it when the database is unreachable. All subscribers are notified. */
  markStale(stale: Readonly<{ sinceMs: number; attempt: number }>): void;
  /** Call it when the database is back. Subscribers get what they missed, then `live`. Throws if the read fails. */
  markLive(): Promise<void>;
}

export interface SharedStore<Handle = unknown> {
  changesAfter(job: MirroredJob<Handle>): Promise<Since<Handle>>;
  /** Restarts the TTL of a lease. False if it is no longer held with this epoch. */
  renew(job: MirroredJob<Handle>, taskId: number, epoch: number): Promise<boolean>;
  /** Expired leases, if this process is the one that watches them. Called several times a second. */
  overdue(): Promise<readonly LeaseRef[]>;
}

/** `deletions` is the number of deleted jobs whose rows are still being removed. */
export type AdapterStatus = Readonly<{ storage?: kernel.StorageHealth; deletions?: number }>;

export interface EngineDeps {
  readonly clock: kernel.Clock;
  readonly random: kernel.Random;
  readonly logger: kernel.Logger;
  readonly metrics: JobsMetrics;
}

/** Ports that are not given are those of the system; logs and metrics are dropped. */
export function withSystemDeps(deps: Partial<EngineDeps>): EngineDeps {
  const { clock = kernel.createSystemClock(), random = kernel.createSystemRandom() } = deps;
  const { logger = kernel.silentLogger, metrics = kernel.silentMetrics } = deps;
  return { clock, random, logger, metrics };
}

type MaybePromise<T> = T | Promise<T>;

export interface StoreAdapter<Handle = unknown> {
  readonly capabilities: StoreCapabilities;
  /** Set if other processes write the same jobs. */
  readonly shared?: SharedStore<Handle>;
  start(host: AdapterHost): Promise<StoreStart>;
  /** Undefined if the job does not exist. Throws `corrupt`. */
  loadJob(jobId: string): Promise<JobRows<Handle> | undefined>;
  /**
   * One atomic step: stores what `decide` returns, and resolves once that is as durable as requested. May call `decide`
   * again if the transaction has to be repeated. An exclusive adapter gets no requests, a shared one gets one.
   */
  commit(requests: readonly CommitRequest[], decide: Decide<Handle>): Promise<void>;
  /** The State messages of these changes; undefined for one that was replaced and removed. Throws `corrupt`. */
  readStates(
    job: MirroredJob<Handle>,
    cells: readonly CellRef[],
  ): MaybePromise<readonly (Uint8Array | undefined)[]>;
  /** For an exclusive adapter, called while no commit is in flight; the view must be taken before this returns. */
  openView(job: MirroredJob<Handle>, filter: JobFilter): MaybePromise<StoreView>;
  /** In order of id. */
  listJobs(range: JobRange): AsyncIterable<readonly ListedJob[]>;
  /** Removes a job whose rows are `corrupt`, and returns its incarnation if known. Undefined if it does not exist. */
  deleteDamaged?(
    jobId: string,
    incarnation: string | undefined,
  ): Promise<{ readonly incarnation: string | undefined } | undefined>;
  status?(): AdapterStatus;
  close(): Promise<void>;
}
