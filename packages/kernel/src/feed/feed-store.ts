// What a feed needs from its store: one consistent view at a time.
import type { FeedChange } from './feed-event.js';

/**
 * A view of one moment of the store, fixed when it is created. Both reads ascend by revision, end at `revision`,
 * contain only what is in scope, and come in pages whose size the store limits. A view that was lost because the
 * store was reopened throws `unavailable`; the feed then continues with a new one.
 */
export interface FeedView<C extends FeedChange> {
  /** The last committed change in this view: the boundary between replay and live. */
  readonly revision: number;
  /** Changes up to here may be missing from `changes`, never from `latest`. */
  readonly compactedTo: number;
  /** The latest change of each key, of those above `after`. */
  latest(after: number): AsyncIterable<readonly C[]>;
  /** Every change above `after`, which is at least `compactedTo`. Not called for history `latest`. */
  changes(after: number): AsyncIterable<readonly C[]>;
  /**
   * Registers a callback for when others wait for the resources that this view holds; it returns whether the view is
   * released. A store without such a limit leaves it out.
   */
  onWanted?(tryRelease: () => boolean): void;
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
  /** Only scopes that share a topic with a change are checked for it. They share at most one. */
  topicsOfScope(scope: Scope): readonly string[];
  topicsOfChange(change: C): readonly string[];
  /** What a change counts towards a subscriber's buffer. */
  bytesOf(change: C): number;
}
