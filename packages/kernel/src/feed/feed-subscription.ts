// One subscriber of a feed: a pull-based stream with a bounded buffer.
//
//   replaying ──▶ catching up ──▶ live ──▶ ended
//                      ▲            │
//                      └────────────┘  the buffer was full: it is dropped, the position is kept
//
// Changes are buffered only for a live subscriber. While it replays or catches up it reads the store, which has
// everything, so a slow or stalled subscriber costs one position.
//
// K20  Revisions strictly increase within the replay and after it; none is delivered twice, even across a resume.
// K21  `synced` comes exactly once per replay, at the revision of the view that ended it.
// K22  Every committed change in scope is delivered, or a `gap` covers it.
// K23  The buffer never exceeds its bounds, and publishing never waits for a subscriber.
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import type { FeedChange, FeedPosition, FeedStale } from './feed-event.js';
import type { FeedPresenter } from './feed-presenter.js';
import { IdleWatch } from './idle-watch.js';
import type { LiveBuffer } from './live-buffer.js';
import type { ReadPiece, ReadStart, StoreReader } from './store-reader.js';
import { StoreStream } from './store-stream.js';

/** What a subscription needs from its feed. */
export interface FeedSubscriptionDeps<C extends FeedChange, E> {
  readonly clock: Clock;
  readonly presenter: FeedPresenter<C, E>;
  readonly buffer: LiveBuffer<C>;
  createReader(turnLive: (revision: number, owesLive: boolean) => void): StoreReader<C>;
  publishedRevision(): number;
  isInScope(change: C): boolean;
  /** Starts or stops offering changes. */
  onLive(): void;
  onLagging(): void;
  /** The subscription has ended and takes nothing more. */
  onEnd(): void;
}

export interface FeedSubscriptionOptions {
  readonly start: Exclude<ReadStart, { kind: 'catch-up' }>;
  readonly isCoalescing: boolean;
  readonly liveIntervalMs: number;
  readonly signal: AbortSignal | undefined;
}

/** How it ends once all published changes are delivered. */
type Ending =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'failed'; readonly error: SynclineError };

/** A reader is waiting for the next batch. */
interface Pull<E> {
  readonly countMax: number;
  resolve(batch: readonly E[] | undefined): void;
  reject(thrown: unknown): void;
}

const done = Promise.resolve();

export class FeedSubscription<C extends FeedChange, E>
  implements AsyncIterable<E>, AsyncDisposable
{
  readonly #deps: FeedSubscriptionDeps<C, E>;
  readonly #options: FeedSubscriptionOptions;
  readonly #idle: IdleWatch;
  readonly #store: StoreStream<C>;
  #start: ReadStart;
  #position: FeedPosition | undefined;
  #owesLive = false;
  #stale: FeedStale | undefined;
  #heardStale: FeedStale | undefined;
  #ending: Ending | undefined;
  #isEnded = false;
  #taker: object | undefined;
  #waiting: Pull<E> | undefined;
  #isWoken = false;

  constructor(deps: FeedSubscriptionDeps<C, E>, options: FeedSubscriptionOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#start = options.start;
    this.#store = new StoreStream({
      createReader: () => deps.createReader(this.#turnLive),
      onProgress: () => this.#wake(),
    });
    this.#idle = new IdleWatch(deps.clock, options.liveIntervalMs, this.#onIdle);
    options.signal?.addEventListener('abort', this.#closeOnAbort);
  }

  /** Where to resume after the last event that was delivered. Undefined before the first. */
  get position(): FeedPosition | undefined {
    return this.#position;
  }

  /** One event at a time. Leaving the loop ends the subscription. */
  [Symbol.asyncIterator](): AsyncIterableIterator<E> {
    return this.#iterate(1, ([event]) => event as E);
  }

  /** The same events, up to `max` at a time and about `feedBatchBytesMax`. A subscription can be read once. */
  batches(
    max: number = kernelLimits.feedBatchEventsMax.value,
  ): AsyncIterableIterator<readonly E[]> {
    if (!Number.isSafeInteger(max) || max < 1) throw this.#endedBy(badBatchMax(max));
    return this.#iterate(max, (batch) => batch);
  }

  /** Takes committed changes. Called by the feed between `onLive` and `onLagging`, in order of revisions. */
  offer(change: C): void {
    const { buffer, presenter } = this.#deps;
    if (!this.#deps.isInScope(change)) return;
    if (buffer.offer(change, this.#waiting !== undefined) === 'full') {
      this.#deps.onLagging();
      presenter.onDrop('full');
    }
    this.#wake();
  }

  /** The store is unreachable. */
  markStale(stale: FeedStale): void {
    this.#stale = stale;
    this.#wake();
  }

  /** The store is reachable again. Subscribers that never received `stale` receive nothing. */
  markLive(): void {
    this.#stale = undefined;
    this.#wake();
  }

  /** The store has another history: subscribers that have received events get a `gap` reset and a new snapshot. */
  restart(): void {
    if (this.#isEnded || this.#ending) return;
    this.#store.leave();
    this.#deps.buffer.stop();
    this.#deps.onLagging();
    const { start } = this.#options;
    const hasSeenNone = !this.#position && start.kind === 'replay' && start.after === 0;
    if (!hasSeenNone) this.#start = { kind: 'reset', after: this.#revision };
    this.#wake();
  }

  /** The store has changes that were not published: it is read from the last event that was delivered. */
  readAgain(): void {
    const { buffer } = this.#deps;
    if (this.#isEnded || this.#ending || buffer.hasFailed) return;
    this.#owesLive ||= !buffer.isServing && this.#position?.isReplaying === false;
    this.#store.leave();
    buffer.stop();
    this.#deps.onLagging();
    if (this.#position) {
      const { revision: after, isReplaying } = this.#position;
      this.#start = isReplaying
        ? { kind: 'replay', after }
        : { kind: 'catch-up', after, coalesces: this.#options.isCoalescing };
    }
    this.#wake();
  }

  /**
   * Delivers what was published, then a last event or an error. A subscriber that is still reading the store stops
   * there.
   */
  endWith(ending: Ending): void {
    if (this.#isEnded || this.#ending) return;
    this.#ending = ending;
    this.#deps.buffer.seal();
    this.#deps.onLagging();
    if (!this.#deps.buffer.isServing) this.#store.leave();
    this.#wake();
  }

  /** Ends the loop without an error and drops what is buffered. */
  close(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (!this.#deps.buffer.isEmpty) this.#deps.presenter.onDrop('closed');
    this.#store.leave();
    this.#deps.buffer.stop();
    this.#idle.stop();
    this.#options.signal?.removeEventListener('abort', this.#closeOnAbort);
    this.#deps.onLagging();
    this.#deps.onEnd();
    this.#deps.presenter.onEnd();
    this.#wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  readonly #closeOnAbort = (): void => this.close();

  get #revision(): number {
    return this.#position?.revision ?? this.#options.start.after;
  }

  #iterate<T>(countMax: number, pick: (batch: readonly E[]) => T): AsyncIterableIterator<T> {
    const taker: AsyncIterableIterator<T> = {
      next: () =>
        new Promise((resolve, reject) => {
          const take = (batch: readonly E[] | undefined) =>
            resolve(batch ? { done: false, value: pick(batch) } : { done: true, value: undefined });
          this.#pull(taker, { countMax, resolve: take, reject });
        }),
      return: async () => {
        this.close();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]: () => taker,
    };
    return taker;
  }

  #pull(taker: object, pull: Pull<E>): void {
    if (!this.#taker) this.#deps.presenter.onOpen();
    this.#taker ??= taker;
    if (this.#taker !== taker || this.#waiting) {
      const fault = this.#waiting ? 'pulled once at a time' : 'read once';
      pull.reject(new SynclineError('conflict', `a subscription can be ${fault}`));
      return;
    }
    this.#waiting = pull;
    this.#serve();
  }

  /** Resolves the waiting pull, or makes sure that something arrives for it. */
  #serve(): void {
    const pull = this.#waiting;
    if (!pull) return;
    try {
      const batch = this.#takeNow(pull.countMax);
      if (batch || this.#isEnded) {
        this.#waiting = undefined;
        this.#idle.onEvent();
        pull.resolve(batch);
        return;
      }
    } catch (thrown) {
      this.#waiting = undefined;
      pull.reject(thrown);
      return;
    }
    if (this.#deps.buffer.isServing) this.#idle.start();
    else this.#store.readOn(() => this.#readStart());
  }

  /** Deferred, so that everything being published now arrives in one batch. */
  #wake(): void {
    if (!this.#waiting || this.#isWoken) return;
    this.#isWoken = true;
    void done.then(this.#onWake); // `queueMicrotask` would create an async hooks resource each time
  }

  readonly #onWake = (): void => {
    this.#isWoken = false;
    this.#serve();
  };

  #takeNow(countMax: number): readonly E[] | undefined {
    const { buffer, presenter } = this.#deps;
    if (this.#isEnded) return undefined;
    const piece = this.#store.take(countMax);
    if (piece) return this.#presentPiece(piece);
    if (!buffer.isEmpty) return this.#takeLive(countMax);
    if (buffer.hasFailed) throw this.#endedBy(presenter.overflow(buffer.through));
    if (this.#store.error) throw this.#endedBy(this.#store.error.thrown);
    if (this.#ending) return this.#takeEnding(this.#ending);
    return this.#takeNotice();
  }

  #presentPiece(piece: ReadPiece<C>): readonly E[] {
    const { presenter } = this.#deps;
    switch (piece.kind) {
      case 'page': {
        const { as, changes } = piece;
        this.#moveTo(changes, as === 'snapshot');
        return changes.map((change) => presenter[as](change));
      }
      case 'synced':
        this.#position = { revision: piece.revision, isReplaying: false };
        return [presenter.synced(piece.revision, piece.resumed)];
      case 'gap':
        if (piece.reason === 'reset') this.#position = { revision: 0, isReplaying: true };
        return [presenter.gap(piece)];
    }
  }

  #takeLive(countMax: number): readonly E[] {
    const { presenter, buffer } = this.#deps;
    const changes = buffer.take(countMax);
    if (changes[0]) presenter.onLive(changes[0]);
    this.#moveTo(changes, false);
    return changes.map((change) => presenter.change(change));
  }

  #takeEnding(ending: Ending): readonly E[] {
    const { presenter } = this.#deps;
    if (ending.kind === 'failed') {
      throw this.#endedBy(presenter.failure(ending.error, this.#position));
    }
    this.close();
    const [fromRevision, toRevision] = [this.#revision, this.#revision];
    return [presenter.gap({ kind: 'gap', reason: 'deleted', fromRevision, toRevision })];
  }

  /** `stale` as often as the store reports it; `live` once nothing is left to deliver. */
  #takeNotice(): readonly E[] | undefined {
    const { presenter, buffer } = this.#deps;
    if (this.#stale && this.#stale !== this.#heardStale) {
      this.#heardStale = this.#stale;
      return [presenter.stale(this.#stale)];
    }
    const isOwed = this.#owesLive || this.#heardStale !== undefined;
    if (!isOwed || this.#stale || !buffer.isServing) return undefined;
    this.#owesLive = false;
    this.#heardStale = undefined;
    const revision = Math.max(buffer.through, this.#deps.publishedRevision());
    this.#position = { revision, isReplaying: false };
    return [presenter.live(revision)];
  }

  #moveTo(changes: readonly C[], isReplaying: boolean): void {
    const last = changes.at(-1);
    if (last) this.#position = { revision: last.revision, isReplaying };
  }

  #endedBy(thrown: unknown): unknown {
    this.close();
    return thrown;
  }

  #readStart(): ReadStart {
    const { buffer } = this.#deps;
    if (!buffer.hasDropped) return this.#start;
    return { kind: 'catch-up', after: buffer.through, coalesces: this.#options.isCoalescing };
  }

  readonly #turnLive = (revision: number, owesLive: boolean): void => {
    this.#deps.buffer.start(revision);
    this.#owesLive ||= owesLive;
    this.#deps.onLive();
  };

  /** A subscriber that is not waiting has something to take, and is watched again when it waits. */
  readonly #onIdle = (): void => {
    if (!this.#waiting || !this.#deps.buffer.isServing) return;
    this.#owesLive = true;
    this.#wake();
  };
}

function badBatchMax(max: number): SynclineError {
  return new SynclineError(
    'invalid-argument',
    `invalid batch size ${max}: expected a positive integer`,
    { details: { field: 'max' } },
  );
}
