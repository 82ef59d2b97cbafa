// What a feed needs of the store behind it: one consistent view at a time.
import type { FeedChange } from './feed-event.js';

/**
 * One moment of the store, fixed when it was made. Both reads ascend by revision, end at `revision`,
 * hold only what is in scope, and come in pages that the store bounds. A view that was lost because the
 * store was opened anew throws `unavailable`; the feed then goes on with another one.
 */
export interface FeedView<C extends FeedChange> {
  /** The last committed change that this view holds: the boundary between replay and live. */
  readonly revision: number;
  /** Changes up to here may be missing from `changes`, never from `latest`. */
  readonly compactedTo: number;
  /** The latest change of each key, of those above `after`. */
  latest(after: number): AsyncIterable<readonly C[]>;
  /** Every change above `after`, which is at least `compactedTo`. */
  changes(after: number): AsyncIterable<readonly C[]>;
  close(): void;
}

export interface FeedStore<C extends FeedChange, Scope = void> {
  /** The last committed revision; 0 when there is none. */
  revision(): number;
  /** Resolves once `view` can be called: see `Storage.whenReadable`. */
  whenReadable(): Promise<void>;
  /** Reads boundary and content in one atomic step. */
  view(scope: Scope): FeedView<C>;
  isInScope(scope: Scope, change: C): boolean;
  /** What a change counts towards a subscriber's buffer. */
  bytesOf(change: C): number;
}
