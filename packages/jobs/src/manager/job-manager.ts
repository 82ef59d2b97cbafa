// The interfaces of readers and managers, and their types, which follow from the declared tags: the tag names, and the
// input and output type of each payload. A reader has all reads of a job; a manager adds the writes of one task.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Durability } from '@syncline/kernel';
import type { JobInfo, JobPatch, JsonObject, Progress, State, TaskLease } from '../job.js';
import type {
  CallOptions,
  JobEvent,
  JobSubscription,
  SetStateResult,
  StoreSubscribeOptions,
  Written,
} from '../job-store.js';

/** Converts a payload from an older schema version to the current one. It may modify or keep its argument. */
export type Migrate = (
  payload: JsonObject,
  fromVersion: number,
) => JsonObject | Promise<JsonObject>;

export type TagSchema = Readonly<{
  /** Checks payloads before they are sent, and again when they are read. Default: any JSON object. */
  schema?: StandardSchemaV1;
  /** Stored with each state. `migrate` converts older payloads to this version. Default 1. */
  schemaVersion?: number;
  /** Whether every task will write this tag. Tasks that have not yet count as not started. Default true. */
  expected?: boolean;
  migrate?: Migrate;
}>;

export type TagSchemas = Readonly<Record<string, TagSchema>>;

/** The declared tags; any string if there are none. */
export type TagName<Tags extends TagSchemas> = Extract<keyof Tags, string>;

type WithSchema<S extends StandardSchemaV1> = Readonly<{ schema: S }>;

/** The type that is written: the input of the schema. */
export type PayloadInput<Tags extends TagSchemas, T extends TagName<Tags>> =
  Tags[T] extends WithSchema<infer S> ? StandardSchemaV1.InferInput<S> : JsonObject;

/** The type that is read: the output of the schema. */
export type PayloadOutput<Tags extends TagSchemas, T extends TagName<Tags>> =
  Tags[T] extends WithSchema<infer S> ? StandardSchemaV1.InferOutput<S> : JsonObject;

type TaggedState<T extends string, P> = Omit<State<P>, 'tag'> & Readonly<{ tag: T }>;

/** A state of the given tag; for several tags, a union that `state.tag` narrows. */
export type StateOf<Tags extends TagSchemas, T extends TagName<Tags>> =
  T extends TagName<Tags> ? TaggedState<T, PayloadOutput<Tags, T>> : never;

/**
 * A state of any tag. At runtime it may also have a tag that was not declared here but written by others, or `''` for
 * the cell of a task without tags. Such a state has no `payload`; if one was written, it is in `rawPayload`.
 */
export type AnyState<Tags extends TagSchemas> = StateOf<Tags, TagName<Tags>>;

export type StatusNames = Readonly<Record<string, number>>;

/** No status names: a status is always a number. */
export type NoStatusNames = Readonly<Record<never, number>>;

/** Selects cells: one, those of a task, those of a tag, or all. */
export type TagScope<T extends string = string> = Readonly<{
  taskId?: number;
  tag?: T | undefined;
}>;

/** Defaults: the whole job from the start, only states, `overflow: 'block'`, 256 events, 1 MiB. */
export type SubscribeOptions<T extends string = string> = TagScope<T> &
  Omit<StoreSubscribeOptions, 'scope' | 'after'> &
  /** The cursor of an event, possibly a stored one. A malformed cursor is an `invalid-argument`. */
  Readonly<{ after?: string | undefined }>;

export interface JobReader<Tags extends TagSchemas = TagSchemas> extends AsyncDisposable {
  /** As of opening, or of the last change made through this object. */
  readonly info: JobInfo;

  /** The cell with the lowest status. A warning hides failures with status −1: `getProgress` shows both. */
  getState<T extends TagName<Tags> = TagName<Tags>>(
    scope?: TagScope<T>,
    call?: CallOptions,
  ): Promise<StateOf<Tags, T>>;

  getProgress(
    scope?: TagScope<TagName<Tags>>,
    call?: CallOptions,
  ): Promise<Progress<AnyState<Tags>>>;

  /** All written states, in order of revision. A state that is rewritten in the meantime is returned again. */
  listStates<T extends TagName<Tags> = TagName<Tags>>(
    scope?: TagScope<T>,
    call?: CallOptions,
  ): AsyncIterable<StateOf<Tags, T>>;

  /**
   * Resolves with the first progress for which `isReached` returns true: the current one, or one after a later change.
   * Rejects with `not-found` if the job is deleted, and with `unavailable` if the store is unreachable for too long; in
   * that case, call it again. Keeps the states in scope in memory while it waits.
   */
  waitFor(
    scope: TagScope<TagName<Tags>>,
    isReached: (progress: Progress<AnyState<Tags>>) => boolean,
    call?: CallOptions,
  ): Promise<Progress<AnyState<Tags>>>;

  /** The current states, `synced`, then every change. `signal` ends the loop without an error. */
  subscribe<T extends TagName<Tags> = TagName<Tags>>(
    options?: SubscribeOptions<T>,
  ): JobSubscription<JobEvent<StateOf<Tags, T>>>;

  /** Ends subscriptions and waiting calls. The store stays open, since others may share it. */
  close(): Promise<void>;
}

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

  /**
   * Writes to the same tag are sent one at a time, in the order of the calls; tags do not wait for each other. With
   * `ifVersion`, the write applies only if the key has this version; with 0, only if it was never written.
   */
  setState<T extends TagName<Tags>, V extends number | undefined = undefined>(
    write: MessageWrite<Tags, T> & Readonly<{ status: StatusInput<Names>; ifVersion?: V }>,
    call?: CallOptions,
  ): V extends number ? Promise<SetStateResult<StateOf<Tags, T>>> : Writing<Tags, T>;

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
  /**
   * Writes "🔴 " and the text of the thrown value as the message, truncated to the limit. `status` is any negative number
   * except −2, which is a warning. Default −1.
   */
  setError<T extends TagName<Tags>>(
    thrown: unknown,
    write: TagWrite<Tags, T> & Readonly<{ status?: StatusInput<Names> }>,
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
