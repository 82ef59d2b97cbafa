// The port of the store kit: what a database must do so that the engine makes a job store of it.
//
// The engine checks input, decides by the core, groups commits, keeps aggregates, leases, feeds, cache and metrics.
// An adapter loads the rows of a job, commits rows and changes atomically, reads a consistent view, reads the changes
// after a revision, and wakes the engine when another process has committed. It decides nothing.
//
// Two kinds of adapters:
//
//   exclusive   This process alone writes (memory, embedded). What the engine holds in memory is the truth; one commit
//               may change many jobs, and one commit is in flight at a time.
//   shared      Other processes write the same jobs (PostgreSQL). A commit changes one job: the adapter locks it,
//               hands over what the engine has not seen yet, lets it decide, and stores the result in the same
//               transaction. Commits of different jobs run in parallel.
import type { Durability, StorageHealth, SynclineError } from '@syncline/kernel';
import type { CellRow, JobRow, TaskRow } from '../core/rows.js';
import type { StoreCapabilities } from '../job-store.js';
import type { Scope } from '../state.js';
import type { CellCounts } from './cell-counts.js';
import type { JobFilter } from './job-filter.js';
import type { ChangeKind, StoredChange } from './stored-change.js';

/** What moves with every change of a job. */
export interface JobHead {
  readonly revision: number;
  /** Of the last change; the next one is not lower. */
  readonly timestampMs: number;
  /** Changes up to here are stored only if they are the latest of their key. */
  readonly compactedTo: number;
  /** Changes that are stored. */
  readonly logRecords: number;
  readonly counts: CellCounts;
}

/** A cell as the engine keeps it in memory: everything but its message, payload and event ids. */
export interface CellPlace {
  readonly taskId: number;
  readonly tag: string;
  readonly version: number;
  readonly revision: number;
  readonly status: number;
  /** 0 if the write carried none. */
  readonly progress: number;
}

/** All rows of a job of one moment, but the changes. */
export interface JobRows<Handle = unknown> {
  readonly row: JobRow;
  readonly head: JobHead;
  readonly tasks: Iterable<TaskRow>;
  readonly cells: Iterable<CellPlace>;
  /** What the adapter needs to find the job again; the engine keeps it and passes it back. */
  readonly handle: Handle;
  /** Rows that cannot be read. Everything else of the job stays usable. */
  readonly damage?: DamagedRows;
}

export interface DamagedRows {
  /** `tag` is undefined if the name of the tag is damaged too. */
  readonly cells: readonly Readonly<{
    taskId: number;
    tag: string | undefined;
    error: SynclineError;
  }>[];
  readonly tasks: readonly Readonly<{ taskId: number; error: SynclineError }>[];
}

/** A job that the engine holds in memory, as an adapter sees it. */
export interface MirroredJob<Handle = unknown> {
  readonly row: JobRow;
  readonly head: JobHead;
  readonly handle: Handle;
  /** The revision of the latest committed change of this subject; 0 if there is none. */
  latestRevision(kind: ChangeKind, taskId: number, tag: string): number;
  /** The revisions of the latest states in a scope, in no order. */
  revisions(scope: Scope): Iterable<number>;
}

/** What a commit stores of one job. */
export interface JobCommit<Handle = unknown> {
  readonly kind: 'create' | 'change' | 'delete';
  /** Set by the adapter for `create`; that of the loaded job otherwise. */
  handle: Handle | undefined;
  readonly row: JobRow;
  readonly isRowChanged: boolean;
  readonly head: JobHead;
  readonly tasks: readonly TaskRow[];
  readonly cells: readonly CellCommit[];
  /** In order of revisions; the last one is `head.revision`. */
  readonly changes: readonly StoredChange[];
  /** Changes that were replaced and are outside retention. */
  readonly removed: readonly RemovedChange[];
  /** Tasks that wrote: their leases are renewed. */
  readonly renewed: Iterable<number>;
}

export interface CellCommit {
  readonly taskId: number;
  readonly tag: string;
  readonly row: CellRow;
  /** The last write asked for no more than `buffered`. */
  readonly isBuffered: boolean;
}

export interface RemovedChange {
  readonly kind: ChangeKind;
  readonly revision: number;
  readonly taskId: number;
  readonly tag: string;
}

export interface Commit<Handle = unknown> {
  readonly jobs: readonly JobCommit<Handle>[];
  /** As durable as the most careful write in it asks. */
  readonly durability: Durability;
}

/** What the engine is about to write, so that a shared adapter can lock the job and read the rows at once. */
export interface CommitRequest {
  readonly jobId: string;
  /** What the engine holds of the job; undefined if it holds nothing. */
  readonly known: Readonly<{ incarnation: string; revision: number }> | undefined;
  /** Cells that will be looked at. */
  readonly cells: readonly Readonly<{ taskId: number; tag: string }>[];
}

/** Rows as they are inside the transaction. */
export interface CommitRows<Handle = unknown> {
  /** Jobs of the whole store. */
  readonly jobsCount: number;
  /**
   * Shared adapters: what happened to the job since `known`. `gone`: there is no such job, or another one of its
   * name; `rows` then holds the new one. Exclusive adapters leave it out.
   */
  readonly since?: Readonly<
    | { kind: 'changes'; changes: readonly StoredChange[]; compactedTo: number }
    | { kind: 'gone'; rows: JobRows<Handle> | undefined }
  >;
  /** The row of a written cell. Throws `corrupt`. */
  cell(job: MirroredJob<Handle>, taskId: number, tag: string): CellRow | undefined;
  /** The State message of a written cell. Throws `corrupt`. */
  state(job: MirroredJob<Handle>, taskId: number, tag: string): Uint8Array;
  /** Shared adapters that watch leases: whether the time of this lease is up, by the clock of the database. */
  isOverdue?(taskId: number): boolean;
}

/** One moment of a job. Reads ascend by revision, end at `revision` and come in pages that the adapter bounds. */
export interface StoreView {
  readonly revision: number;
  /** Changes up to here may be missing from `changes`, never from `latest`. */
  readonly compactedTo: number;
  /** The latest change of each key, task lease and of the metadata that the filter matches, above `after`. */
  latest(filter: JobFilter, after: number): AsyncIterable<readonly StoredChange[]>;
  /** Every change above `after`, which is at least `compactedTo`. Throws `corrupt`, or tells `onDamaged` and goes on. */
  changes(
    filter: JobFilter,
    after: number,
    onDamaged?: (revision: number) => void,
  ): AsyncIterable<readonly StoredChange[]>;
  close(): void;
}

export type ListedJob =
  | Readonly<{ row: JobRow; head: JobHead }>
  /** Its metadata cannot be read. */
  | Readonly<{ damagedJobId: string }>;

/** A change of a cell. */
export interface CellRef {
  readonly taskId: number;
  readonly tag: string;
  readonly revision: number;
}

export interface LeaseRef {
  readonly jobId: string;
  readonly incarnation: string;
  readonly taskId: number;
  readonly epoch: number;
}

/** What a store finds when it starts. */
export interface StoreStart {
  readonly jobsCount: number;
  readonly logRecords: number;
  /** Part of every cursor if it is not 0; raised when revisions may have been lost that a cursor could name. */
  readonly generation: number;
  /** Exclusive adapters: leases that were held. Each gets a full ttl. */
  readonly heldLeases: readonly (LeaseRef & { readonly ttlMs: number })[];
}

/** What an adapter can ask of the engine. */
export interface AdapterHost {
  /** Another process has committed: the job may be at this revision by now, or gone. */
  wake(jobId: string): void;
  /** Jobs that somebody follows, with the last revision that the engine has seen. */
  followed(): readonly Readonly<{ jobId: string; incarnation: string; revision: number }>[];
  /** The database is out of reach; every follower is told. */
  markStale(stale: Readonly<{ sinceMs: number; attempt: number }>): void;
  markLive(): void;
}

export interface SharedStore<Handle = unknown> {
  /** What happened to a job since the engine last saw it. */
  changesAfter(job: MirroredJob<Handle>): Promise<NonNullable<CommitRows<Handle>['since']>>;
  /** A lease was renewed without a change. */
  renewed(job: MirroredJob<Handle>, taskId: number): Promise<void>;
  /** Leases whose time is up, if this process is the one that watches them. Asked several times a second. */
  overdue(): Promise<readonly LeaseRef[]>;
}

export interface AdapterStatus {
  readonly storage?: StorageHealth;
  /** Jobs that are deleted and whose rows are still being removed. */
  readonly deletions?: number;
}

export interface StoreAdapter<Handle = unknown> {
  readonly capabilities: StoreCapabilities;
  /** Set if other processes write the same jobs. */
  readonly shared?: SharedStore<Handle>;
  /** Whether the engine removes replaced changes by its retention. */
  readonly compacts: boolean;
  start(host: AdapterHost): Promise<StoreStart>;
  /** Undefined: there is no such job. Throws `corrupt`. */
  loadJob(jobId: string): Promise<JobRows<Handle> | undefined>;
  /**
   * One atomic step. Calls `decide` with the rows, stores what it returns, and resolves once that is as durable as
   * asked. It may call `decide` again if the transaction has to be repeated. What `decide` throws is thrown on, and
   * nothing is stored then. An exclusive adapter is given no requests, and may be called once at a time.
   */
  commit(
    requests: readonly CommitRequest[],
    decide: (rows: CommitRows<Handle>) => Commit<Handle> | undefined,
  ): Promise<void>;
  /** The State messages of these changes; undefined for one that was replaced and removed. Throws `corrupt`. */
  readStates(
    job: MirroredJob<Handle>,
    cells: readonly CellRef[],
  ): readonly (Uint8Array | undefined)[] | Promise<readonly (Uint8Array | undefined)[]>;
  /** An exclusive adapter is asked while no commit is in flight, and fixes the view before it returns. */
  openView(job: MirroredJob<Handle>): StoreView | Promise<StoreView>;
  /** In order of ids, those that start with `prefix` and come after `after`. */
  listJobs(range: {
    readonly prefix: string;
    readonly after: string;
  }): AsyncIterable<readonly ListedJob[]>;
  /** Removes a job whose rows `loadJob` finds `corrupt`, and says what is known of it. Undefined: there is none. */
  deleteDamaged?(
    jobId: string,
    incarnation: string | undefined,
  ): Promise<{ readonly incarnation: string | undefined } | undefined>;
  /**
   * Resolves when reads can be served; they throw `unavailable` while the database is being opened again. Undefined:
   * they can be served now.
   */
  whenReadable?(): Promise<void> | undefined;
  /** Figures for status pages. */
  status?(): AdapterStatus;
  /** No call follows. */
  close(): Promise<void>;
}
