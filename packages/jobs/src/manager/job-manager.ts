// What a manager offers: one task's writes, and everything that a reader can ask.
import type { Durability } from '@syncline/kernel';
import type { JobPatch, TaskLease } from '../job.js';
import type { CallOptions } from '../job-store.js';
import type { StatusNames } from '../payload/state-reader.js';
import type { PayloadInput, StateOf, TagName, TagSchemas } from '../payload/tag-schemas.js';
import type { JobReader } from './job-reader.js';

/** No names: a status is a number. */
export type NoStatusNames = Readonly<Record<never, number>>;

type StatusInput<Names extends StatusNames> = number | Extract<keyof Names, string>;

/** What every write has, whatever its status and message. */
export type TagWrite<Tags extends TagSchemas, T extends TagName<Tags>> = Readonly<{
  tag: T;
  /** A JSON object, as the schema of the tag takes it. */
  payload?: PayloadInput<Tags, T>;
  /** Default: the tag's. */
  schemaVersion?: number;
  /** How far the task is with this tag, from 0 to 1. Shown as percent. */
  progress?: number;
  /** Repeats of a write keep it. Default: 128 random bits. */
  eventId?: string;
  /** Default `synced`. */
  durability?: Durability;
  /** For callers that carry whole states around: refused unless it is the manager's own. */
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

/** Applies only if the key has this version; 0: only if it was never written. */
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
  /** Any negative one but −2, which is a warning. Default −1. */
  Readonly<{ status?: StatusInput<Names> }>;

export type Written<S> = Readonly<{
  applied: true;
  /** The store had this write already: a repeat. */
  duplicate: boolean;
  state: S;
}>;

export type WrittenIf<S> = Written<S> | Readonly<{ applied: false; reason: 'version'; current: S }>;

/** Only task 0 writes what concerns the whole job; calls of others change nothing, and say so. */
export type GlobalWrite =
  | Readonly<{ applied: true; revision: number }>
  | Readonly<{ applied: false; reason: 'not-task-0' }>;

export interface JobManager<
  Tags extends TagSchemas = TagSchemas,
  Names extends StatusNames = NoStatusNames,
> extends JobReader<Tags> {
  readonly taskId: number;

  /** Writes of a tag are sent one after the other, in the order of the calls; tags do not wait for each other. */
  setState<T extends TagName<Tags>>(
    write: PlainWrite<Tags, Names, T>,
    call?: CallOptions,
  ): Promise<Written<StateOf<Tags, T>>>;
  setState<T extends TagName<Tags>>(
    write: ConditionalWrite<Tags, Names, T>,
    call?: CallOptions,
  ): Promise<WrittenIf<StateOf<Tags, T>>>;

  /** Status 1, «🟢 Started» unless there is a message. */
  setStarted<T extends TagName<Tags>>(
    write: MessageWrite<Tags, T>,
    call?: CallOptions,
  ): Promise<Written<StateOf<Tags, T>>>;
  /** Status 2147483647, «⚫ Finished» unless there is a message. */
  setFinished<T extends TagName<Tags>>(
    write: MessageWrite<Tags, T>,
    call?: CallOptions,
  ): Promise<Written<StateOf<Tags, T>>>;
  /** Status −2, «🟡 » and the text, cut to fit. */
  setWarning<T extends TagName<Tags>>(
    text: string,
    write: TagWrite<Tags, T>,
    call?: CallOptions,
  ): Promise<Written<StateOf<Tags, T>>>;
  /** «🔴 » and the text of whatever was thrown, cut to fit. */
  setError<T extends TagName<Tags>>(
    thrown: unknown,
    write: ErrorWrite<Tags, Names, T>,
    call?: CallOptions,
  ): Promise<Written<StateOf<Tags, T>>>;

  /** Renews the lease. Needed only with `heartbeat: 'manual'`. */
  heartbeat(call?: CallOptions): Promise<TaskLease>;
  updateJob(patch: JobPatch, call?: CallOptions): Promise<GlobalWrite>;
  /** A tombstone: writes are refused, reads go on. */
  markJobDeleted(call?: CallOptions): Promise<GlobalWrite>;
  /** `revision`: the last one that the job had; 0 if there was no job any more. */
  deleteJob(call?: CallOptions): Promise<GlobalWrite>;

  /** Ends subscriptions and reads, waits for accepted writes, then releases the lease. */
  close(): Promise<void>;
}
