// What a subscriber reads from the store until it has caught up with what was published.
//
//   replay, reset or resume ──▶ catching up ──▶ live
//
// The next piece is read only when the previous one was delivered completely, so a slow subscriber holds one page,
// and a stalled one releases its view after a while. It becomes live in the same tick in which it finds that nothing
// was published beyond what it has read, so nothing is missed.
import type { Clock } from '../clock.js';
import { kernelLimits } from '../limits.js';
import type { ChangeRing } from './change-ring.js';
import type { FeedChange, FeedGap } from './feed-event.js';
import type { FeedView } from './feed-store.js';
import type { BufferBounds } from './live-buffer.js';
import { PinnedView } from './pinned-view.js';

/** Where reading starts. `coalesces`: send `gap` overflow first, then the latest of each key. */
export type ReadStart =
  | { readonly kind: 'replay' | 'resume' | 'reset'; readonly after: number }
  | { readonly kind: 'catch-up'; readonly after: number; readonly coalesces: boolean };

export type ReadPiece<C extends FeedChange> =
  | { readonly kind: 'page'; readonly as: 'snapshot' | 'change'; readonly changes: readonly C[] }
  | { readonly kind: 'synced'; readonly revision: number; readonly resumed: boolean }
  | FeedGap;

export interface StoreReaderDeps<C extends FeedChange> {
  readonly clock: Clock;
  readonly ring: ChangeRing<C>;
  openView(signal: AbortSignal): Promise<FeedView<C>>;
  reach(revision: number, signal: AbortSignal): Promise<void>;
  storeRevision(): number;
  publishedRevision(): number;
  isInScope(change: C): boolean;
  /** Everything in scope up to `revision` was read. `owesLive`: a resume or a gap still has to be followed by `live`. */
  turnLive(revision: number, owesLive: boolean): void;
}

export interface StoreReaderOptions {
  readonly history: 'all' | 'latest';
  readonly viewAgeMaxMs: number;
  /**
   * For a subscriber that coalesces: further behind than this, it gets the latest change of each key.
   * Undefined: it gets every change.
   */
  readonly coalesceBeyond: BufferBounds | undefined;
}

type Pieces<C extends FeedChange, End = void> = AsyncGenerator<ReadPiece<C>, End>;

export class StoreReader<C extends FeedChange> {
  readonly #deps: StoreReaderDeps<C>;
  readonly #options: StoreReaderOptions;
  readonly #stop = new AbortController();
  #pinned: PinnedView<C> | undefined;
  /** Everything in scope up to here was read and delivered. */
  #through = 0;
  #owesLive = false;

  constructor(deps: StoreReaderDeps<C>, options: StoreReaderOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async *read(start: ReadStart): Pieces<C> {
    this.#through = start.after;
    if (start.kind === 'resume' || start.kind === 'replay') {
      await this.#deps.reach(start.after, this.#stop.signal);
    }
    const isAhead = start.after > this.#deps.storeRevision();
    if (start.kind !== 'catch-up') yield* this.#open(isAhead ? 'reset' : start.kind);
    yield* this.#catchUp(start.kind === 'catch-up' && start.coalesces);
  }

  /** What is in flight ends without another piece. */
  stop(): void {
    this.#stop.abort();
    this.#pinned?.release(); // no one may ever pull again
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async *#open(kind: 'replay' | 'resume' | 'reset'): Pieces<C> {
    const revision = this.#through;
    if (kind === 'resume') {
      this.#owesLive = true;
      yield { kind: 'synced', revision, resumed: true };
      return;
    }
    if (kind === 'reset') {
      this.#through = 0;
      yield { kind: 'gap', reason: 'reset', fromRevision: revision, toRevision: revision };
    }
    yield* this.#replay();
  }

  /** When a view expires the replay continues from a newer one: rewritten keys are delivered again. */
  async *#replay(): Pieces<C> {
    let isDone = false;
    while (!isDone && !this.#isStopped) {
      const view = await this.#deps.openView(this.#stop.signal);
      isDone = yield* this.#readPages(view, view.latest(this.#through), 'snapshot');
      if (isDone) {
        this.#through = view.revision;
        yield { kind: 'synced', revision: view.revision, resumed: false };
      }
    }
  }

  /** In rounds: a subscriber that coalesces and is slower than the writers falls behind again and again. */
  async *#catchUp(coalesces: boolean): Pieces<C> {
    let isGapDue = coalesces;
    let coalesceTo = 0;
    while (!this.#isStopped && this.#deps.publishedRevision() > this.#through) {
      isGapDue ||= this.#isTooFarBehind(coalesceTo);
      const gapTo = isGapDue ? this.#deps.publishedRevision() : coalesceTo;
      if (!this.#deps.ring.has(this.#through, gapTo)) yield* this.#readStore(isGapDue);
      else if (isGapDue) {
        coalesceTo = gapTo;
        yield this.#gap('overflow', coalesceTo);
      } else yield* this.#readRing(coalesceTo);
      isGapDue = false;
    }
    if (!this.#isStopped) this.#deps.turnLive(this.#through, this.#owesLive);
  }

  /** Beyond what it has read, and beyond what is already coalesced. */
  #isTooFarBehind(coalesceTo: number): boolean {
    const { coalesceBeyond: bounds, history } = this.#options;
    const { ring, isInScope, publishedRevision } = this.#deps;
    if (!bounds || history === 'latest') return false;
    const from = Math.max(this.#through, coalesceTo);
    if (from < ring.compactedTo) return publishedRevision() - from > bounds.eventsMax;
    return ring.exceeds(from, { ...bounds, isInScope });
  }

  async *#readRing(coalesceTo: number): Pieces<C> {
    const { changes, through } = this.#deps.ring.page(this.#through, {
      countMax: kernelLimits.feedBatchEventsMax.value,
      bytesMax: kernelLimits.feedBatchBytesMax.value,
      coalesceTo,
      isInScope: this.#deps.isInScope,
    });
    if (changes.length > 0) yield { kind: 'page', as: 'change', changes };
    this.#through = through;
  }

  async *#readStore(coalesces: boolean): Pieces<C> {
    const view = await this.#deps.openView(this.#stop.signal);
    const isLatest = this.#options.history === 'latest';
    const isCompacted = !isLatest && this.#through < view.compactedTo;
    const gap = isCompacted
      ? this.#gap('compacted', view.revision)
      : coalesces && this.#gap('overflow', view.revision);
    const pages = gap || isLatest ? view.latest(this.#through) : view.changes(this.#through);
    const isDone = yield* this.#readPages(view, pages, 'change', gap || undefined);
    if (isDone) this.#through = view.revision;
  }

  #gap(reason: 'compacted' | 'overflow', toRevision: number): FeedGap {
    this.#owesLive = true;
    return { kind: 'gap', reason, fromRevision: this.#through, toRevision };
  }

  /** True when the view was read to its end, false when it expired before, or the reader was stopped. */
  async *#readPages(
    view: FeedView<C>,
    pages: AsyncIterable<readonly C[]>,
    as: 'snapshot' | 'change',
    gap?: FeedGap,
  ): Pieces<C, boolean> {
    const ageMaxMs = this.#options.viewAgeMaxMs;
    const pinned = new PinnedView(this.#deps.clock, view, { pages, ageMaxMs });
    this.#pinned = pinned;
    try {
      if (this.#isStopped) return false; // while the view was opened: `stop` could not release it
      if (gap) yield gap;
      for (;;) {
        const page = await pinned.next();
        if (page.kind !== 'page') return page.kind === 'done';
        if (page.changes.length > 0) yield { kind: 'page', as, changes: page.changes };
        this.#through = page.changes.at(-1)?.revision ?? this.#through;
      }
    } finally {
      await pinned.close();
    }
  }
}
