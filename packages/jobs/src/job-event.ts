// What a subscriber sees: what is there, a marker, then what happens.
//
//   snapshot* synced (change | gap | stale | live)*
//
// `stale` and `live` may also interrupt a replay; `lease` and `job` stand in order of revisions on both sides
// of `synced`, if asked for. A `gap` reset starts the grammar again, a `gap` deleted is the last event.
import type { JobInfo, TaskLease } from './job.js';
import type { Scope, State } from './state.js';

/** Where to resume. Opaque: pass on what an event carried. */
export type Cursor = string & { readonly __brand: 'JobCursor' };

/** `all`: every revision within retention comes. `latest`: versions overwritten meanwhile may be left out. */
export type History = 'all' | 'latest';

export type GapReason = 'overflow' | 'compacted' | 'reset' | 'deleted';

export type JobEvent<S = State> =
  | { readonly kind: 'snapshot'; readonly state: S; readonly cursor: Cursor }
  | {
      readonly kind: 'synced';
      readonly revision: number;
      readonly cursor: Cursor;
      readonly history: History;
      readonly resumed: boolean;
    }
  | { readonly kind: 'change'; readonly state: S; readonly cursor: Cursor }
  | {
      readonly kind: 'gap';
      readonly reason: GapReason;
      readonly fromRevision: number;
      readonly toRevision: number;
    }
  /** The store is out of reach, since when by the wall clock: what you hold is getting old, until `live`. */
  | { readonly kind: 'stale'; readonly sinceMs: number; readonly attempt: number }
  /** Caught up: all in scope up to `revision` was delivered. */
  | { readonly kind: 'live'; readonly revision: number; readonly cursor: Cursor }
  | { readonly kind: 'lease'; readonly lease: TaskLease; readonly cursor: Cursor }
  | { readonly kind: 'job'; readonly job: JobInfo; readonly cursor: Cursor };

/** What to do when a subscriber is too slow for its buffer. */
export type Overflow = 'block' | 'coalesce' | 'fail';

export type StoreSubscribeOptions = Readonly<{
  scope: Scope;
  after?: Cursor;
  include?: readonly ('lease' | 'job')[];
  /** Default `block`. */
  overflow?: Overflow;
  /** Defaults 256 events, 1 MiB. */
  buffer?: Readonly<{ maxEvents?: number; maxBytes?: number }>;
  /** Ends the subscription without an error and drops what is buffered. */
  signal?: AbortSignal;
}>;

/** Can be read once: by event or by batch. Leaving the loop ends it. */
export interface JobSubscription<E = JobEvent> extends AsyncIterable<E>, AsyncDisposable {
  /** The same events, up to `max` at a time; a batch is never empty and never waits to be full. */
  batches(max?: number): AsyncIterable<readonly E[]>;
  /** Where to resume behind the last event that was handed out. Before the first it is `after`, if that was given. */
  readonly cursor: Cursor | undefined;
}
