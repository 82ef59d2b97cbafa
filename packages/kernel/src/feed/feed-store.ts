// What a feed needs of the store behind it: one consistent view at a time.
import type { FeedChange } from './feed-event.js';

/**
 * One moment of the store, fixed when it was made. Both reads ascend by revision, end at `revision`,
 * hold only what is in scope, and come in pages that the store bounds. A view that was lost because the
 * store was reopened throws `unavailable`; the feed then goes on with another one.
 */
export interface FeedView<C extends FeedChange> {
  /** The last committed change that this view holds: the boundary between replay and live. */
  readonly revision: number;
  /** Changes up to here may be missing from `changes`, never from `latest`. */
  readonly compactedTo: number;
  /** The latest change of each key, of those above `after`. */
  latest(after: number): AsyncIterable<readonly C[]>;
  /** Every change above `after`, which is at least `compactedTo`. Not asked of history `latest`. */
  changes(after: number): AsyncIterable<readonly C[]>;
  /**
   * Takes what is to be called while others wait for the room that this view takes; it says whether the view
   * is let go. A store that bounds nothing leaves it out.
   */
  onWanted?(letGo: () => boolean): void;
  close(): void;
}

export interface FeedStore<C extends FeedChange, Scope = void> {
  /** The last committed revision; 0 when there is none. */
  revision(): number;
  /** Reads boundary and content in one atomic step. Waits while the store cannot be read. */
  view(scope: Scope, signal: AbortSignal): Promise<FeedView<C>>;
  /**
   * Resolves once `revision()` has reached this one, or is known to be the last. A store that always knows
   * its last revision leaves it out.
   */
  reach?(revision: number, signal: AbortSignal): Promise<void>;
  isInScope(scope: Scope, change: C): boolean;
  /** Only scopes that share a topic with a change are asked about it. They share at most one. */
  topicsOfScope(scope: Scope): readonly string[];
  topicsOfChange(change: C): readonly string[];
  /** What a change counts towards a subscriber's buffer. */
  bytesOf(change: C): number;
}
