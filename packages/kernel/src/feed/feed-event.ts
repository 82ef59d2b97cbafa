// What a subscriber sees: first the existing changes, then a marker, then live changes.
//
//   snapshot* synced (change | gap | stale | live)*
//
// `snapshot` events come in the order of their revisions, all at most R; `synced` carries R and always comes, even if
// there is nothing; `change` events have revisions above R, in order. A `gap` means that revisions were left out; it
// is followed by the latest change of each key since. A `gap` reset starts the grammar again, a `gap` deleted is the
// last event. `stale` may come anywhere. After a resume, a gap and `stale`, and from time to time when nothing
// happens, `live` says that the reader has caught up.

/** One committed change. Revisions are assigned by the store and strictly increase. */
export interface FeedChange {
  readonly revision: number;
  /** Changes with the same key replace each other. */
  readonly key: string;
}

export type FeedEvent<C extends FeedChange> =
  | { readonly kind: 'snapshot'; readonly change: C }
  /** `resumed`: the subscriber passed a revision to continue from, and it was valid. */
  | { readonly kind: 'synced'; readonly revision: number; readonly resumed: boolean }
  | { readonly kind: 'change'; readonly change: C }
  | FeedGap
  | FeedStale
  /** Everything in scope up to `revision` was delivered. */
  | { readonly kind: 'live'; readonly revision: number };

/**
 * Revisions above `fromRevision` up to `toRevision` may be missing. `compacted`: the store no longer has them.
 * `overflow`: the subscriber was too slow and coalesces. `reset`: the revision to resume from belongs to a
 * different history; a snapshot follows. `deleted`: the subject was deleted. For these two, both revisions are that of the
 * subscriber.
 */
export interface FeedGap {
  readonly kind: 'gap';
  readonly reason: 'compacted' | 'overflow' | 'reset' | 'deleted';
  readonly fromRevision: number;
  readonly toRevision: number;
}

/** The store is unreachable: what was seen may be out of date. */
export interface FeedStale {
  readonly kind: 'stale';
  readonly sinceMs: number;
  readonly attempt: number;
}

/** Where to resume. `isReplaying`: only the part of a replay up to `revision` was seen. */
export interface FeedPosition {
  readonly revision: number;
  readonly isReplaying: boolean;
}
