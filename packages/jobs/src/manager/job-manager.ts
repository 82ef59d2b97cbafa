// The interfaces of readers and managers. A reader has all reads of a job; a manager adds the writes of one task.
import type { Durability } from '@syncline/kernel';
import type { JobInfo, JobPatch, Progress, TaskLease } from '../job.js';
import type {
  CallOptions,
  JobEvent,
  JobSubscription,
  StoreSubscribeOptions,
} from '../job-store.js';
import type {
  AnyState,
  PayloadInput,
  StateOf,
  StatusNames,
  TagName,
  TagSchemas,
} from './tag-schemas.js';

/** Selects cells: one, those of a task, those of a tag, or all. */
export type TagScope<Tags extends TagSchemas> = Readonly<{ taskId?: number; tag?: TagName<Tags> }>;

type OneTag<T> = Readonly<{ taskId?: number; tag: T }>;
type NoTag = Readonly<{ taskId?: number; tag?: undefined }>;

/** Defaults: the whole job from the start, only states, `overflow: 'block'`, 256 events, 1 MiB. */
export type SubscribeOptions<T extends string = string> = Omit<
  StoreSubscribeOptions,
  'scope' | 'after'
> &
  Readonly<{
    taskId?: number;
    tag?: T;
    /** The cursor of an event, possibly a stored one. A malformed cursor is an `invalid-argument`. */
    after?: string | undefined;
  }>;

export interface JobReader<Tags extends TagSchemas = TagSchemas> extends AsyncDisposable {
  /** As of opening, or of the last change made through this object. */
  readonly info: JobInfo;

  /** The cell with the lowest status. A warning hides failures with status −1: `getProgress` shows both. */
  getState<T extends TagName<Tags>>(
    scope: OneTag<T>,
    call?: CallOptions,
  ): Promise<StateOf<Tags, T>>;
  getState(scope?: NoTag, call?: CallOptions): Promise<AnyState<Tags>>;

  getProgress(scope?: TagScope<Tags>, call?: CallOptions): Promise<Progress<AnyState<Tags>>>;

  /** All written states, in order of revision. A state that is rewritten in the meantime is returned again. */
  listStates<T extends TagName<Tags>>(
    scope: OneTag<T>,
    call?: CallOptions,
  ): AsyncIterable<StateOf<Tags, T>>;
  listStates(scope?: NoTag, call?: CallOptions): AsyncIterable<AnyState<Tags>>;

  /**
   * Resolves with the first progress for which `isReached` returns true: the current one, or one after a later change.
   * Rejects with `not-found` if the job is deleted, and with `unavailable` if the store is unreachable for too long; in
   * that case, call it again. Keeps the states in scope in memory while it waits.
   */
  waitFor(
    scope: TagScope<Tags>,
    isReached: (progress: Progress<AnyState<Tags>>) => boolean,
    call?: CallOptions,
  ): Promise<Progress<AnyState<Tags>>>;

  /** The current states, `synced`, then every change. `signal` ends the loop without an error. */
  subscribe<T extends TagName<Tags>>(
    options: SubscribeOptions<T> & Readonly<{ tag: T }>,
  ): JobSubscription<JobEvent<StateOf<Tags, T>>>;
  subscribe(
    options?: SubscribeOptions & Readonly<{ tag?: undefined }>,
  ): JobSubscription<JobEvent<AnyState<Tags>>>;

  /** Ends subscriptions and waiting calls. The store stays open, since others may share it. */
  close(): Promise<void>;
}

/** No status names: a status is always a number. */
export type NoStatusNames = Readonly<Record<never, number>>;

type StatusInput<Names extends StatusNames> = number | Extract<keyof Names, string>;

/** The fields common to all writes. */
export type TagWrite<Tags extends TagSchemas, T extends TagName<Tags>> = Readonly<{
  tag: T;
  /** A JSON object that the tag's schema accepts. */
  payload?: PayloadInput<Tags, T>;
  /** Default: the tag's. */
  schemaVersion?: number;
  /** Progress of the task for this tag, from 0 to 1. Shown as a percentage. */
  progress?: number;
  /** Identifies the write: a retry must use the same id. Default: 128 random bits. */
  eventId?: string;
  /** Default `synced`. */
  durability?: Durability;
  /** For callers that pass whole states. Refused unless it is the manager's own. */
  taskId?: number;
  jobId?: string;
}>;

export type MessageWrite<Tags extends TagSchemas, T extends TagName<Tags>> = TagWrite<Tags, T> &
  Readonly<{ message?: string }>;

export type PlainWrite<
  Tags extends TagSchemas,
  Names extends StatusNames,
  T extends TagName<Tags>,
> = MessageWrite<Tags, T> & Readonly<{ status: StatusInput<Names>; ifVersion?: undefined }>;

/** Applies only if the key has this version; with 0, only if it was never written. */
export type ConditionalWrite<
  Tags extends TagSchemas,
  Names extends StatusNames,
  T extends TagName<Tags>,
> = MessageWrite<Tags, T> & Readonly<{ status: StatusInput<Names>; ifVersion: number }>;

export type ErrorWrite<
  Tags extends TagSchemas,
  Names extends StatusNames,
  T extends TagName<Tags>,
> = TagWrite<Tags, T> &
  /** Any negative status except −2, which is a warning. Default −1. */
  Readonly<{ status?: StatusInput<Names> }>;

export type Written<S> = Readonly<{
  applied: true;
  /** The write was a retry that had already been applied. */
  duplicate: boolean;
  state: S;
}>;

export type WrittenIf<S> = Written<S> | Readonly<{ applied: false; reason: 'version'; current: S }>;

type Writing<Tags extends TagSchemas, T extends TagName<Tags>> = Promise<Written<StateOf<Tags, T>>>;

/** Only task 0 can change the job as a whole. Calls from other tasks change nothing and return `not-task-0`. */
export type GlobalWrite =
  | Readonly<{ applied: true; revision: number }>
  | Readonly<{ applied: false; reason: 'not-task-0' }>;

export interface JobManager<
  Tags extends TagSchemas = TagSchemas,
  Names extends StatusNames = NoStatusNames,
> extends JobReader<Tags> {
  readonly taskId: number;

  /** Writes to the same tag are sent one at a time, in the order of the calls; tags do not wait for each other. */
  setState<T extends TagName<Tags>>(
    write: PlainWrite<Tags, Names, T>,
    call?: CallOptions,
  ): Writing<Tags, T>;
  setState<T extends TagName<Tags>>(
    write: ConditionalWrite<Tags, Names, T>,
    call?: CallOptions,
  ): Promise<WrittenIf<StateOf<Tags, T>>>;

  /** Status 1, with the message "🟢 Started" unless one is given. */
  setStarted<T extends TagName<Tags>>(
    write: MessageWrite<Tags, T>,
    call?: CallOptions,
  ): Writing<Tags, T>;
  /** Status 2147483647, with the message "⚫ Finished" unless one is given. */
  setFinished<T extends TagName<Tags>>(
    write: MessageWrite<Tags, T>,
    call?: CallOptions,
  ): Writing<Tags, T>;
  /** Status −2, with "🟡 " and the text as its message, truncated to the limit. */
  setWarning<T extends TagName<Tags>>(
    text: string,
    write: TagWrite<Tags, T>,
    call?: CallOptions,
  ): Writing<Tags, T>;
  /** Writes "🔴 " and the text of the thrown value as the message, truncated to the limit. */
  setError<T extends TagName<Tags>>(
    thrown: unknown,
    write: ErrorWrite<Tags, Names, T>,
    call?: CallOptions,
  ): Writing<Tags, T>;

  /** Renews the lease. Needed only with `heartbeat: 'manual'`. */
  heartbeat(call?: CallOptions): Promise<TaskLease>;
  updateJob(patch: JobPatch, call?: CallOptions): Promise<GlobalWrite>;
  /** Sets a tombstone: writes are refused, reads still work. */
  markJobDeleted(call?: CallOptions): Promise<GlobalWrite>;
  /** `revision` is the last revision of the job, or 0 if it no longer existed. */
  deleteJob(call?: CallOptions): Promise<GlobalWrite>;

  /** Ends subscriptions and reads, waits for accepted writes, then releases the lease. */
  close(): Promise<void>;
}
