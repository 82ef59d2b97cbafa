// What a reader offers: everything that can be asked of a job. A manager offers it too.
import type { JobInfo } from '../job.js';
import type { JobEvent, JobSubscription, StoreSubscribeOptions } from '../job-event.js';
import type { CallOptions } from '../job-store.js';
import type { AnyState, StateOf, TagName, TagSchemas } from '../payload/tag-schemas.js';
import type { Progress } from '../progress.js';

/** Which cells: one, a task's, a tag's, or all. */
export type TagScope<Tags extends TagSchemas> = Readonly<{ taskId?: number; tag?: TagName<Tags> }>;

type OneTag<T> = Readonly<{ taskId?: number; tag: T }>;
type NoTag = Readonly<{ taskId?: number; tag?: undefined }>;

/** Defaults: the whole job from the start, states alone, `overflow: 'block'`, 256 events, 1 MiB. */
export type SubscribeOptions<T extends string = string> = Omit<
  StoreSubscribeOptions,
  'scope' | 'after'
> &
  Readonly<{
    taskId?: number;
    tag?: T;
    /** The cursor of an event, also as a text that was kept somewhere. What is none is `invalid-argument`. */
    after?: string | undefined;
  }>;

export interface JobReader<Tags extends TagSchemas = TagSchemas> extends AsyncDisposable {
  /** As last heard: when it was opened, or when it was changed from here. */
  readonly info: JobInfo;

  /** The cell with the lowest status. One warning hides every failure: `getProgress` shows both. */
  getState<T extends TagName<Tags>>(
    scope: OneTag<T>,
    call?: CallOptions,
  ): Promise<StateOf<Tags, T>>;
  getState(scope?: NoTag, call?: CallOptions): Promise<AnyState<Tags>>;

  getProgress(scope?: TagScope<Tags>, call?: CallOptions): Promise<Progress<AnyState<Tags>>>;

  /** The states that exist, ascending by revision. One that is rewritten meanwhile comes once more. */
  listStates<T extends TagName<Tags>>(
    scope: OneTag<T>,
    call?: CallOptions,
  ): AsyncIterable<StateOf<Tags, T>>;
  listStates(scope?: NoTag, call?: CallOptions): AsyncIterable<AnyState<Tags>>;

  /**
   * Resolves with the first progress that is as wanted: the one now, or after one of the changes to come.
   * Rejects with `not-found` if the job is deleted, and with `unavailable` if the store is out of reach for too
   * long: call it again then. It holds the states in scope while it waits.
   */
  waitFor(
    scope: TagScope<Tags>,
    isReached: (progress: Progress<AnyState<Tags>>) => boolean,
    call?: CallOptions,
  ): Promise<Progress<AnyState<Tags>>>;

  /** What is there, `synced`, then every change. `signal` ends the loop without an error. */
  subscribe<T extends TagName<Tags>>(
    options: SubscribeOptions<T> & Readonly<{ tag: T }>,
  ): JobSubscription<JobEvent<StateOf<Tags, T>>>;
  subscribe(
    options?: SubscribeOptions & Readonly<{ tag?: undefined }>,
  ): JobSubscription<JobEvent<AnyState<Tags>>>;

  /** Ends subscriptions and waiting calls. The store stays open: others share it. */
  close(): Promise<void>;
}
