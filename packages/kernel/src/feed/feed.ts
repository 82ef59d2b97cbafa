// Feed: the replay-then-live primitive. It delivers what a store commits to any number of subscribers.
//
// The store stays the only full copy: a feed keeps at most a ring of the newest changes, for readers that are
// slightly behind. The writer calls `publish` once the commit has the durability it promised, so that no subscriber
// sees a change that a crash could undo.
import { assert } from '../assert.js';
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import { ChangeRing } from './change-ring.js';
import type { FeedChange, FeedEvent, FeedStale } from './feed-event.js';
import { type FeedPresenter, plainPresenter } from './feed-presenter.js';
import type { FeedStore } from './feed-store.js';
import { FeedSubscription } from './feed-subscription.js';
import {
  type BufferBounds,
  type BufferRoom,
  type FeedOverflow,
  LiveBuffer,
} from './live-buffer.js';
import { StoreReader, type StoreReaderDeps } from './store-reader.js';
import { TopicIndex } from './topic-index.js';

export interface FeedDeps<C extends FeedChange, Scope> {
  readonly clock: Clock;
  readonly store: FeedStore<C, Scope>;
  /** Shared by the buffers of several feeds. Default: each buffer only has its own bounds. */
  readonly room?: BufferRoom;
}

export interface FeedOptions {
  /** Default `feedSubscribersMax`. One more is refused with `limit-exceeded`. */
  readonly subscribersMax?: number;
  /** How long a replay may hold one view of the store. Default `feedViewAgeMaxMs`. */
  readonly viewAgeMaxMs?: number;
  /** `latest`: a reader that is behind gets the latest change of each key instead of every change. Default `all`. */
  readonly history?: 'all' | 'latest';
  /** Newest changes kept for readers that are behind, so that they need no view. Default none. */
  readonly ring?: { readonly changesMax: number; readonly bytesMax?: number };
  /** An idle subscriber receives `live` at this interval. Default: never. */
  readonly liveIntervalMs?: number;
}

export interface FeedSubscribeOptions<Scope> {
  readonly scope: Scope;
  /** Resume after this revision instead of starting with a snapshot. */
  readonly after?: number;
  /**
   * What was seen up to `after`. `all` (default): continue with the changes. `replay`: only part of the replay,
   * which continues. `other-history`: a different history, so start with a `gap` reset.
   */
  readonly seen?: 'all' | 'replay' | 'other-history';
  /**
   * What happens when the subscriber is too slow for its buffer. `block` (default): it reads every
   * change again from the store and misses none while the store has them. `coalesce`: it gets a `gap`
   * and the latest change of each key, each time it is further behind than its buffer holds. `fail`: it gets what is buffered, then an `overflow` error.
   */
  readonly overflow?: FeedOverflow;
  /** Defaults `feedBufferEventsMax` and `feedBufferBytesMax`. Larger buffers bridge longer pauses. */
  readonly buffer?: { readonly eventsMax?: number; readonly bytesMax?: number };
  /** Ends the subscription without an error. */
  readonly signal?: AbortSignal;
}

const START_OF = { all: 'resume', replay: 'replay', 'other-history': 'reset' } as const;

export class Feed<C extends FeedChange, Scope = void> {
  readonly #deps: FeedDeps<C, Scope>;
  readonly #options: Required<FeedOptions>;
  readonly #subscriptions = new Set<FeedSubscription<C, unknown>>();
  /** Only live subscribers. */
  readonly #byTopic = new TopicIndex<FeedSubscription<C, unknown>>();
  #ring: ChangeRing<C>;
  #published: number;
  #stale: FeedStale | undefined;
  #isClosed = false;

  constructor(deps: FeedDeps<C, Scope>, options: FeedOptions = {}) {
    this.#deps = deps;
    this.#options = {
      subscribersMax: options.subscribersMax ?? kernelLimits.feedSubscribersMax.value,
      viewAgeMaxMs: options.viewAgeMaxMs ?? kernelLimits.feedViewAgeMaxMs.value,
      history: options.history ?? 'all',
      ring: options.ring ?? { changesMax: 0 },
      liveIntervalMs: options.liveIntervalMs ?? Number.POSITIVE_INFINITY,
    };
    this.#published = deps.store.revision();
    this.#ring = this.#createRing();
  }

  get subscribersCount(): number {
    return this.#subscriptions.size;
  }

  /** Bytes of the changes that are kept for readers that are behind. */
  get ringBytes(): number {
    return this.#ring.bytes;
  }

  /** Frees them: those readers use the store instead. */
  clearRing(): void {
    this.#ring.clear();
  }

  /** Delivers committed changes, in order. Synchronous: it never waits for a subscriber. */
  publish(changes: readonly C[]): void {
    const { store } = this.#deps;
    for (const change of changes) {
      assert(change.revision > this.#published, 'K20: revisions are published in order, each once');
      this.#published = change.revision;
      this.#ring.push(change);
      for (const topic of store.topicsOfChange(change)) {
        for (const subscription of this.#byTopic.of(topic)) subscription.offer(change);
      }
    }
    assert(this.#published <= store.revision(), 'K22: first the store, then the feed');
  }

  subscribe(options: FeedSubscribeOptions<Scope>): FeedSubscription<C, FeedEvent<C>> {
    return this.subscribeAs(plainPresenter<C>(), options);
  }

  /** The subscriber receives each event as its presenter converts it. */
  subscribeAs<E>(
    presenter: FeedPresenter<C, E>,
    options: FeedSubscribeOptions<Scope>,
  ): FeedSubscription<C, E> {
    if (this.#isClosed) throw new SynclineError('closed', 'the feed is closed');
    checkRevision(options.after);
    this.#checkRoom();
    const { after, scope, overflow = 'block', signal } = options;
    const topics = this.#deps.store.topicsOfScope(scope);
    const bounds = boundsOf(options);
    const coalesceBeyond = overflow === 'coalesce' ? bounds : undefined;
    const subscription: FeedSubscription<C, E> = new FeedSubscription<C, E>(
      {
        clock: this.#deps.clock,
        presenter,
        buffer: this.#createBuffer(overflow, bounds),
        createReader: (turnLive) =>
          new StoreReader(this.#readerDeps(scope, turnLive), { ...this.#options, coalesceBeyond }),
        publishedRevision: () => this.#published,
        isInScope: (change) => this.#deps.store.isInScope(scope, change),
        onLive: () => this.#byTopic.add(topics, subscription),
        onLagging: () => this.#byTopic.delete(topics, subscription),
        onEnd: () => this.#subscriptions.delete(subscription),
      },
      {
        start: {
          kind: after === undefined ? 'replay' : START_OF[options.seen ?? 'all'],
          after: after ?? 0,
        },
        isCoalescing: overflow === 'coalesce',
        liveIntervalMs: this.#options.liveIntervalMs,
        signal,
      },
    );
    if (signal?.aborted) subscription.close();
    else this.#subscriptions.add(subscription);
    if (this.#stale) subscription.markStale(this.#stale);
    return subscription;
  }

  /** The store is unreachable: subscribers receive `stale` after everything published before it. */
  markStale(stale: Omit<FeedStale, 'kind'>): void {
    this.#stale = { kind: 'stale', ...stale };
    for (const subscription of this.#subscriptions) subscription.markStale(this.#stale);
  }

  /** The store is reachable again and all missed changes were published: subscribers that received `stale` receive `live`. */
  markLive(): void {
    this.#stale = undefined;
    for (const subscription of this.#subscriptions) subscription.markLive();
  }

  /** The store has a different history: subscribers get a `gap` reset and a new snapshot. */
  reset(): void {
    this.#published = this.#deps.store.revision();
    this.#ring = this.#createRing();
    for (const subscription of this.#subscriptions) subscription.restart();
  }

  /** The store has moved past what was published: subscribers read what they miss from the store. */
  skipAhead(): void {
    this.#published = this.#deps.store.revision();
    this.#ring = this.#createRing();
    for (const subscription of this.#subscriptions) subscription.readAgain();
  }

  /** Subscribers get what was published, a `gap` deleted, and end. New ones are refused. */
  endDeleted(): void {
    this.#isClosed = true;
    for (const subscription of this.#subscriptions) subscription.endWith({ kind: 'deleted' });
  }

  /** Subscribers get what was published, then this error. New ones are refused. */
  fail(error: SynclineError): void {
    this.#isClosed = true;
    for (const subscription of this.#subscriptions) subscription.endWith({ kind: 'failed', error });
  }

  /** Ends every subscription and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    for (const subscription of [...this.#subscriptions]) subscription.close();
  }

  #createRing(): ChangeRing<C> {
    const { changesMax, bytesMax = Number.POSITIVE_INFINITY } = this.#options.ring;
    const { store } = this.#deps;
    return new ChangeRing<C>(
      { changesMax, bytesMax, bytesOf: (change) => store.bytesOf(change) },
      this.#published,
    );
  }

  #createBuffer(overflow: FeedOverflow, bounds: BufferBounds): LiveBuffer<C> {
    const { store, room } = this.#deps;
    const bytesOf = (change: C) => store.bytesOf(change);
    return new LiveBuffer<C>({ overflow, ...bounds, room, bytesOf });
  }

  #readerDeps(scope: Scope, turnLive: StoreReaderDeps<C>['turnLive']): StoreReaderDeps<C> {
    const { store, clock } = this.#deps;
    return {
      clock,
      ring: this.#ring,
      openView: (signal) => store.view(scope, signal),
      reach: async (revision, signal) => store.reach?.(revision, signal),
      storeRevision: () => store.revision(),
      publishedRevision: () => this.#published,
      isInScope: (change) => store.isInScope(scope, change),
      turnLive,
    };
  }

  #checkRoom(): void {
    const { subscribersMax } = this.#options;
    if (this.#subscriptions.size < subscribersMax) return;
    throw new SynclineError(
      'limit-exceeded',
      `the feed has ${subscribersMax} subscribers, which is the limit`,
      {
        details: { limit: 'feedSubscribersMax' },
      },
    );
  }
}

function boundsOf({ buffer = {} }: Pick<FeedSubscribeOptions<never>, 'buffer'>): BufferBounds {
  return {
    eventsMax: buffer.eventsMax ?? kernelLimits.feedBufferEventsMax.value,
    bytesMax: buffer.bytesMax ?? kernelLimits.feedBufferBytesMax.value,
  };
}

function checkRevision(after: number | undefined): void {
  if (after === undefined || (Number.isSafeInteger(after) && after >= 0)) return;
  throw new SynclineError(
    'invalid-argument',
    `cannot resume after ${after}: expected an integer of at least 0`,
    {
      details: { field: 'after' },
    },
  );
}
