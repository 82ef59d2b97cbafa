// One subscriber of a feed: a pull-based stream with a bounded buffer.
//
//   replaying ──▶ catching up ──▶ live ──▶ ended
//                      ▲            │
//                      └────────────┘  the buffer was full: it is dropped, the position is kept
//
// Only a live subscriber is buffered for. While it replays or catches up it reads the store, which has
// everything, so a slow or stalled subscriber costs one position.
//
// K20  Revisions rise strictly within the replay and after it; none comes twice, also over a resume.
// K21  `synced` comes exactly once per replay, at the revision of the view that ended it.
// K22  Every committed change in scope comes, or a `gap` covers it.
// K23  The buffer never passes its bounds, and publishing never waits for a subscriber.
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import type { FeedChange, FeedPosition, FeedStale } from './feed-event.js';
import type { FeedPresenter } from './feed-presenter.js';
import { IdleWatch } from './idle-watch.js';
import type { LiveBuffer } from './live-buffer.js';
import type { ReadPiece, ReadStart, StoreReader } from './store-reader.js';

/** What a subscription needs of its feed. */
export interface FeedSubscriptionDeps<C extends FeedChange, E> {
  readonly clock: Clock;
  readonly presenter: FeedPresenter<C, E>;
  readonly buffer: LiveBuffer<C>;
  createReader(turnLive: (revision: number, owesLive: boolean) => void): StoreReader<C>;
  publishedRevision(): number;
  isInScope(change: C): boolean;
  /** Changes are to be offered from now on, or no longer. */
  onLive(): void;
  onDeaf(): void;
  /** The subscription has ended and takes nothing more. */
  onEnd(): void;
}

export interface FeedSubscriptionOptions {
  readonly start: Exclude<ReadStart, { kind: 'catch-up' }>;
  readonly isCoalescing: boolean;
  readonly liveIntervalMs: number;
  readonly signal: AbortSignal | undefined;
}

/** How it ends once what was published is handed out. */
type Ending =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'failed'; readonly error: SynclineError };

export class FeedSubscription<C extends FeedChange, E>
  implements AsyncIterable<E>, AsyncDisposable
{
  readonly #deps: FeedSubscriptionDeps<C, E>;
  readonly #options: FeedSubscriptionOptions;
  readonly #idle: IdleWatch;
  #start: ReadStart;
  #reader: StoreReader<C> | undefined;
  #pieces: AsyncGenerator<ReadPiece<C>> | undefined;
  #isReading = false;
  /** Read from the store and not handed out whole; `#pieceAt` says how much was. */
  #piece: ReadPiece<C> | undefined;
  #pieceAt = 0;
  #readError: { readonly thrown: unknown } | undefined;
  #position: FeedPosition | undefined;
  #owesLive = false;
  #stale: FeedStale | undefined;
  #heardStale: FeedStale | undefined;
  #ending: Ending | undefined;
  #isEnded = false;
  #taker: object | undefined;
  /** Set while a pull waits. */
  #wake: (() => void) | undefined;

  constructor(deps: FeedSubscriptionDeps<C, E>, options: FeedSubscriptionOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#start = options.start;
    this.#idle = new IdleWatch(deps.clock, options.liveIntervalMs, this.#onIdle);
    options.signal?.addEventListener('abort', this.#closeOnAbort);
  }

  /** Where to resume behind the last event that was handed out. Undefined before the first. */
  get position(): FeedPosition | undefined {
    return this.#position;
  }

  /** One event at a time. Leaving the loop ends the subscription. */
  [Symbol.asyncIterator](): AsyncIterableIterator<E> {
    return this.#iterate(1, ([event]) => event as E);
  }

  /** The same events, up to `countMax` at a time. A subscription can be read once. */
  batches(
    countMax: number = kernelLimits.feedBatchEventsMax.value,
  ): AsyncIterableIterator<readonly E[]> {
    return this.#iterate(countMax, (batch) => batch);
  }

  /** Takes what was committed. Called by the feed between `onLive` and `onDeaf`, in order of revisions. */
  offer(change: C): void {
    const { buffer, presenter } = this.#deps;
    if (!this.#deps.isInScope(change)) return;
    // Who waits takes a batch as soon as this commit is published whole: that is not being slow.
    const extraEvents = this.#wake ? kernelLimits.feedBatchEventsMax.value : 0;
    if (buffer.offer(change, extraEvents) === 'full') {
      this.#deps.onDeaf();
      presenter.onDrop();
    }
    this.#wakeNow();
  }

  /** The store is out of reach. */
  markStale(stale: FeedStale): void {
    this.#stale = stale;
    this.#wakeNow();
  }

  /** It is within reach again. Who has not heard otherwise need not know. */
  markLive(): void {
    this.#stale = undefined;
    this.#wakeNow();
  }

  /** The store shows another past: whoever has seen something gets a `gap` reset and a new snapshot. */
  restart(): void {
    if (this.#isEnded || this.#ending) return;
    this.#leaveStore();
    this.#deps.buffer.stop();
    this.#deps.onDeaf();
    const { start } = this.#options;
    const hasSeenNone = !this.#position && start.kind === 'replay' && start.after === 0;
    if (!hasSeenNone) this.#start = { kind: 'reset', after: this.#revision };
    this.#wakeNow();
  }

  /** Hands out what was published, then a last event or an error. Who still reads the store stops there. */
  endWith(ending: Ending): void {
    if (this.#isEnded || this.#ending) return;
    this.#ending = ending;
    this.#deps.buffer.seal();
    this.#deps.onDeaf();
    if (!this.#deps.buffer.isServing) this.#leaveStore();
    this.#wakeNow();
  }

  /** Ends the loop without an error and drops what is buffered. */
  close(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#leaveStore();
    this.#deps.buffer.stop();
    this.#idle.stop();
    this.#options.signal?.removeEventListener('abort', this.#closeOnAbort);
    this.#deps.onDeaf();
    this.#deps.onEnd();
    this.#deps.presenter.onEnd();
    this.#wakeNow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  readonly #closeOnAbort = (): void => this.close();

  get #revision(): number {
    return this.#position?.revision ?? this.#options.start.after;
  }

  #wakeNow(): void {
    this.#wake?.();
  }

  #iterate<T>(countMax: number, pick: (batch: readonly E[]) => T): AsyncIterableIterator<T> {
    const taker: AsyncIterableIterator<T> = {
      next: async () => {
        const batch = await this.#pull(taker, countMax);
        return batch ? { done: false, value: pick(batch) } : { done: true, value: undefined };
      },
      return: async () => {
        this.close();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]: () => taker,
    };
    return taker;
  }

  async #pull(taker: object, countMax: number): Promise<readonly E[] | undefined> {
    if (!this.#taker) this.#deps.presenter.onOpen();
    this.#taker ??= taker;
    if (this.#taker !== taker) {
      throw new SynclineError('conflict', 'a subscription can be read once');
    }
    if (this.#wake) throw new SynclineError('conflict', 'a subscription is pulled once at a time');
    for (;;) {
      const batch = this.#takeNow(countMax);
      if (batch) this.#idle.onEvent();
      if (batch || this.#isEnded) return batch;
      this.#readOn();
      if (this.#deps.buffer.isServing) this.#idle.start();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  #takeNow(countMax: number): readonly E[] | undefined {
    const { buffer, presenter } = this.#deps;
    if (this.#isEnded) return undefined;
    if (this.#piece) return this.#takePiece(this.#piece, countMax);
    if (!buffer.isEmpty) return this.#takeLive(countMax);
    if (buffer.hasFailed) throw this.#endedBy(presenter.overflow(buffer.through));
    if (this.#readError) throw this.#endedBy(this.#readError.thrown);
    if (this.#ending) return this.#takeEnding(this.#ending);
    return this.#takeNotice();
  }

  #takePiece(piece: ReadPiece<C>, countMax: number): readonly E[] {
    const { presenter } = this.#deps;
    if (piece.kind === 'page') {
      const changes = piece.changes.slice(this.#pieceAt, this.#pieceAt + countMax);
      this.#pieceAt += changes.length;
      if (this.#pieceAt >= piece.changes.length) this.#piece = undefined;
      const isReplaying = piece.as === 'snapshot';
      this.#moveTo(changes, isReplaying);
      return changes.map((change) =>
        isReplaying ? presenter.snapshot(change) : presenter.change(change),
      );
    }
    this.#piece = undefined;
    if (piece.kind === 'synced') {
      this.#position = { revision: piece.revision, isReplaying: false };
      return [presenter.synced(piece.revision, piece.resumed)];
    }
    if (piece.reason === 'reset') this.#position = { revision: 0, isReplaying: true };
    return [presenter.gap(piece)];
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

  /** `stale` as often as the store says it; `live` once nothing is left to hand out. */
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

  /** Reads the next piece of the store, unless one is under way or the buffer serves. */
  #readOn(): void {
    const { buffer } = this.#deps;
    if (buffer.isServing || this.#isReading || this.#ending) return;
    if (!this.#pieces) {
      if (buffer.hasDropped) {
        const coalesces = this.#options.isCoalescing;
        this.#start = { kind: 'catch-up', after: buffer.through, coalesces };
      }
      this.#reader = this.#deps.createReader(this.#turnLive);
      this.#pieces = this.#reader.read(this.#start);
    }
    const pieces = this.#pieces;
    this.#isReading = true;
    pieces.next().then(
      ({ value }) => this.#onPiece(pieces, value ?? undefined),
      (thrown: unknown) => this.#onPiece(pieces, undefined, { thrown }),
    );
  }

  #onPiece(
    pieces: AsyncGenerator<ReadPiece<C>>,
    piece: ReadPiece<C> | undefined,
    error?: { readonly thrown: unknown },
  ): void {
    if (pieces !== this.#pieces) return; // the subscriber has left the store meanwhile
    this.#isReading = false;
    this.#piece = piece;
    this.#pieceAt = 0;
    if (!piece) this.#pieces = undefined;
    this.#readError = error;
    this.#wakeNow();
  }

  readonly #turnLive = (revision: number, owesLive: boolean): void => {
    this.#deps.buffer.start(revision);
    this.#owesLive ||= owesLive;
    this.#deps.onLive();
  };

  #leaveStore(): void {
    this.#reader?.stop();
    this.#pieces = undefined;
    this.#piece = undefined;
    this.#isReading = false;
  }

  /** Who does not wait has something to take, and is watched again when it waits. */
  readonly #onIdle = (): void => {
    if (!this.#wake || !this.#deps.buffer.isServing) return;
    this.#owesLive = true;
    this.#wakeNow();
  };
}
