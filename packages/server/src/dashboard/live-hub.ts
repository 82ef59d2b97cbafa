// One event stream per open page, fed by sources that pages share.
//
//   source ─ sample every interval ─▶ feed (a few recent deltas, encoded once) ─▶ page, page, page …
//
// A page pulls: it gets its next event once the previous one has left for the socket. A page that is up to
// `liveDeltasMax` samples behind gets those deltas in one event; one further behind gets the full state again.
// So a page costs two numbers and its socket buffer. One that never reads is cut by the stall timeout.
import { type Clock, SynclineError, type Timer } from '@syncline/kernel';
import type { ServerSentEvent } from '../http/http-route.js';
import { serverLimits } from '../limits.js';
import type { LiveSource } from './live-view.js';

/** An event is sent at least this often even if nothing has changed, so that a page can detect a dead connection. */
const CONFIRM_INTERVAL_MS = 1_000;

export interface LiveHubDeps {
  readonly clock: Clock;
  limitReached(limit: 'livePagesMax'): void;
  /** Default: unobserved. */
  pagesChanged?(count: number): void;
}

export class LiveHub {
  readonly #deps: LiveHubDeps;
  readonly #feeds = new Map<string, LiveFeed>();
  #pagesCount = 0;

  constructor(deps: LiveHubDeps) {
    this.#deps = deps;
  }

  get pagesCount(): number {
    return this.#pagesCount;
  }

  /**
   * Pages with equal keys share a source. Rejects with `overloaded` when too many pages are open, and with the
   * error of a source that cannot start. The caller must call `return` of the iterator.
   */
  async open(key: string, createSource: () => LiveSource): Promise<AsyncIterator<ServerSentEvent>> {
    const { value: pagesMax } = serverLimits.livePagesMax;
    if (this.#pagesCount >= pagesMax) {
      this.#deps.limitReached('livePagesMax');
      throw new SynclineError(
        'overloaded',
        `${pagesMax} dashboard pages are open on this node, which is the limit. Close some, or use another node.`,
        { details: { limit: 'livePagesMax' } },
      );
    }
    const feed = this.#feedOf(key, createSource); // may throw
    this.#countPages(1);
    feed.pagesCount += 1;
    const release = (): void => {
      this.#countPages(-1);
      feed.pagesCount -= 1;
      if (feed.pagesCount > 0) return;
      feed.stop();
      if (this.#feeds.get(key) === feed) this.#feeds.delete(key);
    };
    try {
      await feed.started;
    } catch (thrown) {
      release();
      throw thrown;
    }
    return new LivePage(feed, this.#deps.clock, release);
  }

  #countPages(change: 1 | -1): void {
    this.#pagesCount += change;
    this.#deps.pagesChanged?.(this.#pagesCount);
  }

  #feedOf(key: string, createSource: () => LiveSource): LiveFeed {
    const known = this.#feeds.get(key);
    if (known !== undefined && !known.isOver) return known;
    const feed = new LiveFeed(this.#deps.clock, createSource());
    this.#feeds.set(key, feed);
    return feed;
  }
}

class LiveFeed {
  readonly started: Promise<void>;
  readonly source: LiveSource;
  pagesCount = 0;
  /** Counts the samples with changes. */
  mark = 0;
  failure: SynclineError | undefined;
  isOver = false;
  readonly #clock: Clock;
  /** The deltas of the latest samples, up to `mark`; undefined if a sample replaced the whole state. */
  readonly #deltas: (string | undefined)[] = [];
  #waiting: (() => void)[] = [];
  #confirmedMs = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, source: LiveSource) {
    this.#clock = clock;
    this.source = source;
    this.started = this.#start();
    this.started.catch(() => undefined); // every page that awaits it gets the error
  }

  /** The deltas after `mark`, oldest first; undefined if the page must read the full state. */
  deltasSince(mark: number): readonly string[] | undefined {
    const missed = this.mark - mark;
    if (missed > this.#deltas.length) return undefined;
    const deltas: string[] = [];
    for (const delta of this.#deltas.slice(this.#deltas.length - missed)) {
      if (delta === undefined) return undefined;
      if (delta !== '') deltas.push(delta);
    }
    return deltas;
  }

  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  stop(thrown?: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    if (thrown !== undefined) this.failure = SynclineError.from(thrown, 'closed');
    this.#timer?.cancel();
    this.source.stop();
    this.#wake();
  }

  async #start(): Promise<void> {
    try {
      await this.source.start();
    } catch (thrown) {
      this.stop(thrown);
      throw thrown;
    }
    this.#confirmedMs = this.#clock.monotonicMs();
    this.#schedule();
  }

  #schedule(): void {
    if (this.isOver) return;
    const run = (): void => void this.#sample();
    this.#timer = this.#clock.setTimer(this.source.intervalMs, run, { unref: true });
  }

  async #sample(): Promise<void> {
    try {
      const sample = await this.source.sample();
      if (this.isOver) return;
      const nowMs = this.#clock.monotonicMs();
      if (sample.kind !== 'unchanged')
        this.#advance(sample.kind === 'delta' ? sample.json : undefined);
      else if (nowMs - this.#confirmedMs >= CONFIRM_INTERVAL_MS) this.#advance('');
    } catch (thrown) {
      this.stop(thrown);
      return;
    }
    this.#schedule();
  }

  #advance(delta: string | undefined): void {
    this.#confirmedMs = this.#clock.monotonicMs();
    this.mark += 1;
    this.#deltas.push(delta);
    if (this.#deltas.length > serverLimits.liveDeltasMax.value) this.#deltas.shift();
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** Not a generator: its `return` would have to wait for a pending `next`, which waits for a change. */
class LivePage implements AsyncIterator<ServerSentEvent> {
  readonly #feed: LiveFeed;
  readonly #clock: Clock;
  readonly #release: () => void;
  /** The last sample that the page has; -1 before the first part. */
  #mark = -1;
  /** The next part of the full state; undefined once the page has all parts. */
  #partIndex: number | undefined = 0;
  #isClosed = false;

  constructor(feed: LiveFeed, clock: Clock, release: () => void) {
    this.#feed = feed;
    this.#clock = clock;
    this.#release = release;
  }

  async next(): Promise<IteratorResult<ServerSentEvent>> {
    const feed = this.#feed;
    if (this.#partIndex === undefined && !feed.isOver && this.#mark === feed.mark)
      await feed.changed();
    if (this.#isClosed) return { done: true, value: undefined };
    if (feed.isOver) throw feed.failure ?? new SynclineError('closed', 'the view was closed');
    return { done: false, value: this.#nextEvent() };
  }

  return(): Promise<IteratorResult<ServerSentEvent>> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#release();
    }
    return Promise.resolve({ done: true, value: undefined });
  }

  #nextEvent(): ServerSentEvent {
    const feed = this.#feed;
    const head = `{"atMs":${this.#clock.nowMs()}`;
    if (this.#partIndex === undefined) {
      const deltas = feed.deltasSince(this.#mark);
      this.#mark = feed.mark;
      if (deltas !== undefined)
        return { event: 'delta', encoded: `${head},"deltas":[${deltas.join(',')}]}` };
      this.#partIndex = 0;
    }
    const index = this.#partIndex;
    const count = feed.source.partsCount();
    if (index === 0) this.#mark = feed.mark; // later parts may be newer, and their deltas then have no effect
    this.#partIndex = index + 1 < count ? index + 1 : undefined;
    const place = `"index":${index},"count":${count}`;
    return { event: 'part', encoded: `${head},${place},"body":${feed.source.part(index)}}` };
  }
}
