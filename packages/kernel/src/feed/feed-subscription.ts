// One subscriber of a feed: a pull-based stream with a bounded buffer.
//
//   replaying ──▶ catching up ──▶ live ──▶ ended
//                      ▲            │
//                      └────────────┘  the buffer was full: it is dropped, the cursor is kept
//
// Only a live subscriber is buffered for. While it replays or catches up it reads the store, which has
// everything, so a slow or stalled subscriber costs one cursor. It turns live in the same tick in which
// it sees that the feed has published nothing beyond what it has read; that is why nothing is missed.
//
// K20  Revisions rise strictly within the replay and after it; none comes twice, also over a resume.
// K21  `synced` comes exactly once per replay, at the revision of the view that ended it.
// K22  Every committed change in scope comes, or a `gap` covers it.
// K23  The buffer never passes its bounds, and publishing never waits for a subscriber.
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import type { FeedChange, FeedEvent, FeedGap } from './feed-event.js';
import type { FeedView } from './feed-store.js';
import { type FeedOverflow, LiveBuffer, type LiveBufferDeps } from './live-buffer.js';
import { PinnedView } from './pinned-view.js';

/** What a subscription needs of its feed. */
export interface FeedSubscriptionDeps<C extends FeedChange> extends LiveBufferDeps<C> {
  readonly clock: Clock;
  openView(): FeedView<C>;
  whenReadable(): Promise<void>;
  storeRevision(): number;
  publishedRevision(): number;
  /** The subscription has ended and takes nothing more. */
  onEnd(): void;
}

export interface FeedSubscriptionOptions {
  readonly overflow: FeedOverflow;
  readonly after: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly viewAgeMaxMs: number;
}

type Batch<C extends FeedChange> = readonly FeedEvent<C>[];
/** How reading a view ended. `stopped`: the subscription was closed meanwhile. */
type ReadEnd = 'done' | 'expired' | 'stopped';

export class FeedSubscription<C extends FeedChange>
  implements AsyncIterable<FeedEvent<C>>, AsyncDisposable
{
  readonly #deps: FeedSubscriptionDeps<C>;
  readonly #options: FeedSubscriptionOptions;
  readonly #stop = new AbortController();
  readonly #buffer: LiveBuffer<C>;
  #pinned: PinnedView<C> | undefined;
  #isTaken = false;
  /** Set by a resume and by a gap: say when the reader has caught up. */
  #owesLive = false;
  /** Everything in scope up to here was handed out, the open batch included. */
  #delivered: number;
  /** A batch was made and not yet handed out whole: only `#cursor` says how far the reader came. */
  #isBatchOpen = false;
  #cursor = 0;

  constructor(deps: FeedSubscriptionDeps<C>, options: FeedSubscriptionOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#buffer = new LiveBuffer(deps, options.overflow);
    this.#delivered = options.after ?? 0;
    if (options.signal?.aborted) this.#stop.abort();
    options.signal?.addEventListener('abort', this.#closeOnAbort);
  }

  /** Where to resume: pass it as `after` to go on behind the last event that was handed out. */
  get revision(): number {
    if (this.#isBatchOpen) return this.#cursor;
    return this.#buffer.levelRevision ?? this.#delivered;
  }

  /** Takes what was committed. Called by the feed, in order of revisions. */
  publish(changes: readonly C[]): void {
    this.#buffer.publish(changes);
  }

  /** One event at a time. Leaving the loop ends the subscription. */
  async *[Symbol.asyncIterator](): AsyncGenerator<FeedEvent<C>> {
    for await (const batch of this.#run()) {
      for (const event of batch) {
        if (this.#isStopped()) return;
        if ('change' in event) this.#cursor = event.change.revision;
        yield event;
      }
      this.#isBatchOpen = false;
    }
  }

  /** The same events, up to `feedBatchEventsMax` at a time. A subscription can be read once. */
  async *batches(): AsyncGenerator<Batch<C>> {
    for await (const batch of this.#run()) {
      this.#isBatchOpen = false;
      yield batch;
    }
  }

  /** Ends the loop without an error and drops what is buffered. */
  close(): void {
    this.#buffer.stop();
    this.#stop.abort();
    this.#pinned?.release(); // nobody may ever pull again
    this.#options.signal?.removeEventListener('abort', this.#closeOnAbort);
    this.#deps.onEnd();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  readonly #closeOnAbort = (): void => this.close();

  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async *#run(): AsyncGenerator<Batch<C>> {
    if (this.#isTaken) throw new SynclineError('conflict', 'a subscription can be read once');
    this.#isTaken = true;
    try {
      const { after } = this.#options;
      if (!this.#isStopped()) yield* after === undefined ? this.#replay() : this.#resume(after);
      while (!this.#isStopped()) {
        yield* this.#catchUp();
        yield* this.#live();
      }
    } finally {
      this.close();
    }
  }

  async *#resume(after: number): AsyncGenerator<Batch<C>> {
    if (after > this.#deps.storeRevision()) {
      this.#delivered = 0;
      yield [{ kind: 'gap', reason: 'reset', fromRevision: after, toRevision: after }];
      yield* this.#replay();
      return;
    }
    this.#owesLive = true;
    yield [{ kind: 'synced', revision: after, resumed: true }];
  }

  /** When a view expires the replay goes on from a newer one: what was rewritten comes again. */
  async *#replay(): AsyncGenerator<Batch<C>> {
    let end: ReadEnd = 'expired';
    while (end === 'expired') {
      const view = await this.#openView();
      end = yield* this.#read(view, view.latest(this.#delivered), 'snapshot');
      if (end === 'done') {
        this.#delivered = view.revision;
        yield [{ kind: 'synced', revision: view.revision, resumed: false }];
      }
    }
  }

  /** Reads the store until it is level with what was published, then turns live in the same tick. */
  async *#catchUp(): AsyncGenerator<Batch<C>> {
    while (this.#deps.publishedRevision() > this.#delivered && !this.#isStopped()) {
      const view = await this.#openView();
      const gap = this.#gapBefore(view);
      const pages = gap ? view.latest(this.#delivered) : view.changes(this.#delivered);
      const end = yield* this.#read(view, pages, 'change', gap);
      if (end === 'done') this.#delivered = view.revision;
    }
    if (this.#isStopped()) return;
    this.#buffer.start(this.#delivered);
    if (!this.#owesLive) return;
    this.#owesLive = false;
    yield [{ kind: 'live', revision: this.#delivered }];
  }

  /** A store that was opened anew has closed its views: we wait for it and go on from a new one. */
  async #openView(): Promise<FeedView<C>> {
    await this.#deps.whenReadable();
    return this.#deps.openView();
  }

  #gapBefore(view: FeedView<C>): FeedGap | undefined {
    const coalesces = this.#buffer.hasDropped && this.#options.overflow === 'coalesce';
    this.#buffer.stop(); // said once, also if this view expires
    const isCompacted = this.#delivered < view.compactedTo;
    if (!isCompacted && !coalesces) return undefined;
    this.#owesLive = true;
    const reason = isCompacted ? 'compacted' : 'overflow';
    return { kind: 'gap', reason, fromRevision: this.#delivered, toRevision: view.revision };
  }

  /** Yields a view's pages and keeps `#delivered` at the last change handed out. */
  async *#read(
    view: FeedView<C>,
    pages: AsyncIterable<readonly C[]>,
    kind: 'snapshot' | 'change',
    gap?: FeedGap,
  ): AsyncGenerator<Batch<C>, ReadEnd> {
    const ageMaxMs = this.#options.viewAgeMaxMs;
    const batchEventsMax = kernelLimits.feedBatchEventsMax.value;
    const pinned = new PinnedView(this.#deps.clock, view, { pages, ageMaxMs });
    this.#pinned = pinned;
    try {
      if (gap) yield [gap];
      while (!this.#isStopped()) {
        const page = await pinned.next();
        if (page.kind !== 'page') return page.kind;
        for (let at = 0; at < page.changes.length; at += batchEventsMax) {
          yield this.#handOut(page.changes.slice(at, at + batchEventsMax), kind);
        }
      }
      return 'stopped';
    } finally {
      await pinned.close();
    }
  }

  async *#live(): AsyncGenerator<Batch<C>> {
    while (this.#buffer.isServing) {
      const countMax = kernelLimits.feedBatchEventsMax.value;
      const changes = await this.#buffer.take(countMax, this.#stop.signal);
      if (!changes) return;
      yield this.#handOut(changes, 'change');
    }
  }

  #handOut(changes: readonly C[], kind: 'snapshot' | 'change'): Batch<C> {
    this.#cursor = this.#delivered;
    this.#delivered = changes.at(-1)?.revision ?? this.#delivered;
    this.#isBatchOpen = true;
    return changes.map((change) => ({ kind, change }));
  }
}
