// What a subscriber sees: first what is there, then a marker, then what happens.
//
//   snapshot* synced (change | gap | stale | live)*
//
// `snapshot` events come in the order of their revisions, all at most R; `synced` carries R and always
// comes, also when there is nothing; `change` events have revisions above R, in order. A `gap` says
// that revisions were left out; what follows it is the latest change of each key since. A `gap` reset
// starts the grammar again, a `gap` deleted is the last event. `stale` may come anywhere. After a resume,
// a gap and `stale`, and from time to time when nothing happens, `live` says that the reader has caught up.

/** One committed change. The store gives revisions; they rise strictly. */
export interface FeedChange {
  readonly revision: number;
  /** Changes with the same key replace each other. */
  readonly key: string;
}

export type FeedEvent<C extends FeedChange> =
  | { readonly kind: 'snapshot'; readonly change: C }
  /** `resumed`: the subscriber named a revision to go on from, and it was good. */
  | { readonly kind: 'synced'; readonly revision: number; readonly resumed: boolean }
  | { readonly kind: 'change'; readonly change: C }
  | FeedGap
  | FeedStale
  /** Everything in scope up to `revision` was handed out. */
  | { readonly kind: 'live'; readonly revision: number };

/**
 * Revisions above `fromRevision` up to `toRevision` may be missing.
 * `compacted`: the store no longer has them. `overflow`: the subscriber was too slow and coalesces.
 * `reset`: the revision to resume from is of another past; a snapshot follows. `deleted`: what was
 * followed is gone. These two name the revision of the subscriber twice.
 */
export interface FeedGap {
  readonly kind: 'gap';
  readonly reason: 'compacted' | 'overflow' | 'reset' | 'deleted';
  readonly fromRevision: number;
  readonly toRevision: number;
}

/** The store is out of reach: what was seen is getting old. */
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
