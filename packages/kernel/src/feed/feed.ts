// Feed: the replay-then-live primitive. It hands what a store commits to any number of subscribers.
//
// The store stays the only copy: a feed keeps no history. Whoever commits calls `publish` after the
// commit has the durability it promised, so that nobody sees what a crash could take back.
import { assert } from '../assert.js';
import { BoundedQueue } from '../bounded-queue.js';
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import type { FeedChange } from './feed-event.js';
import type { FeedStore } from './feed-store.js';
import { FeedSubscription } from './feed-subscription.js';
import type { FeedOverflow } from './live-buffer.js';

export interface FeedDeps<C extends FeedChange, Scope> {
  readonly clock: Clock;
  readonly store: FeedStore<C, Scope>;
}

export interface FeedOptions {
  /** Default `feedSubscribersMax`. One more is refused with `limit-exceeded`. */
  readonly subscribersMax?: number;
  /** How long a replay may hold one view of the store. Default `feedViewAgeMaxMs`. */
  readonly viewAgeMaxMs?: number;
}

export interface FeedSubscribeOptions<Scope> {
  readonly scope: Scope;
  /** Resume behind this revision instead of starting with a snapshot. */
  readonly after?: number;
  /**
   * What happens when the subscriber is too slow for its buffer. `block` (default): it reads every
   * change again from the store and misses none while the store has them. `coalesce`: it gets a `gap`
   * and the latest change of each key. `fail`: it gets what is buffered, then an `overflow` error.
   */
  readonly overflow?: FeedOverflow;
  /** Defaults `feedBufferEventsMax` and `feedBufferBytesMax`. Larger bridges longer pauses. */
  readonly buffer?: { readonly eventsMax?: number; readonly bytesMax?: number };
  /** Ends the subscription without an error. */
  readonly signal?: AbortSignal;
}

export class Feed<C extends FeedChange, Scope = void> {
  readonly #deps: FeedDeps<C, Scope>;
  readonly #options: Required<FeedOptions>;
  readonly #subscriptions = new Set<FeedSubscription<C>>();
  #published: number;
  #isClosed = false;

  constructor(deps: FeedDeps<C, Scope>, options: FeedOptions = {}) {
    this.#deps = deps;
    this.#options = {
      subscribersMax: options.subscribersMax ?? kernelLimits.feedSubscribersMax.value,
      viewAgeMaxMs: options.viewAgeMaxMs ?? kernelLimits.feedViewAgeMaxMs.value,
    };
    this.#published = deps.store.revision();
  }

  get subscribersCount(): number {
    return this.#subscriptions.size;
  }

  /** Hands on what was committed, in order. Synchronous: it never waits for a subscriber. */
  publish(changes: readonly C[]): void {
    for (const { revision } of changes) {
      assert(revision > this.#published, 'K20: revisions are published in order, each once');
      this.#published = revision;
    }
    assert(this.#published <= this.#deps.store.revision(), 'K22: first the store, then the feed');
    for (const subscription of this.#subscriptions) subscription.publish(changes);
  }

  subscribe(options: FeedSubscribeOptions<Scope>): FeedSubscription<C> {
    const { store, clock } = this.#deps;
    const { scope, overflow = 'block', buffer = {} } = options;
    if (this.#isClosed) throw new SynclineError('closed', 'the feed is closed');
    checkRevision(options.after);
    this.#checkRoom();
    const subscription: FeedSubscription<C> = new FeedSubscription(
      {
        clock,
        openView: () => store.view(scope),
        isInScope: (change) => store.isInScope(scope, change),
        whenReadable: () => store.whenReadable(),
        storeRevision: () => store.revision(),
        publishedRevision: () => this.#published,
        createQueue: () =>
          new BoundedQueue({
            itemsMax: buffer.eventsMax ?? kernelLimits.feedBufferEventsMax.value,
            bytesMax: buffer.bytesMax ?? kernelLimits.feedBufferBytesMax.value,
            bytesOf: (change) => store.bytesOf(change),
          }),
        onEnd: () => this.#subscriptions.delete(subscription),
      },
      {
        overflow,
        after: options.after,
        signal: options.signal,
        viewAgeMaxMs: this.#options.viewAgeMaxMs,
      },
    );
    if (!options.signal?.aborted) this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Ends every subscription and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    for (const subscription of [...this.#subscriptions]) subscription.close();
  }

  #checkRoom(): void {
    const { subscribersMax } = this.#options;
    if (this.#subscriptions.size < subscribersMax) return;
    throw new SynclineError(
      'limit-exceeded',
      `the feed has ${subscribersMax} subscribers, which is its limit`,
      {
        details: { limit: 'feedSubscribersMax' },
      },
    );
  }
}

function checkRevision(after: number | undefined): void {
  if (after === undefined || (Number.isSafeInteger(after) && after >= 0)) return;
  throw new SynclineError(
    'invalid-argument',
    `cannot resume after ${after}: a revision is a whole number from 0`,
    {
      details: { field: 'after' },
    },
  );
}
