// What a subscriber sees: first what is there, then a marker, then what happens.
//
//   (gap reset)? snapshot* synced (change | gap | live)*
//
// `snapshot` events come in the order of their revisions, all at most R; `synced` carries R and always
// comes, also when there is nothing; `change` events have revisions above R, in order. A `gap` says
// that revisions were left out; what follows it is the latest change of each key since. After a resume
// and after a gap `live` says that the reader has caught up.

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
  /** Everything in scope up to `revision` was handed out. */
  | { readonly kind: 'live'; readonly revision: number };

/**
 * Revisions above `fromRevision` up to `toRevision` may be missing.
 * `compacted`: the store no longer has them. `overflow`: the subscriber was too slow and coalesces.
 * `reset`: the revision to resume from is ahead of the store; a snapshot follows.
 */
export interface FeedGap {
  readonly kind: 'gap';
  readonly reason: 'compacted' | 'overflow' | 'reset';
  readonly fromRevision: number;
  readonly toRevision: number;
}
