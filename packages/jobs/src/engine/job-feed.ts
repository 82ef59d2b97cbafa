// JobFeed: hands what a job commits to its subscribers, replayed then live. One per job and store.
//
// The engine calls `publish` once a commit is as durable as it was asked to be, in order of revisions.
import {
  type Clock,
  Feed,
  type FeedGap,
  type FeedPosition,
  type FeedPresenter,
  type FeedStale,
  type FeedStore,
  type FeedSubscription,
  SynclineError,
} from '@syncline/kernel';
import { checkSubscribeOptions } from '../checks/subscribe-input.js';
import { formatCursor, parseCursor } from '../cursor.js';
import type { Cursor, History, Overflow, StoreSubscribeOptions } from '../job-event.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import { type EncodedEvent, JobFeedChange } from './feed-event.js';
import { filterTopics, type JobFilter, jobFilter, matchesFilter } from './job-filter.js';
import type { StoredChange } from './stored-change.js';

/** One moment of a job, of what a filter matches. See `StoreView`. */
export interface JobFeedView {
  readonly revision: number;
  readonly compactedTo: number;
  latest(after: number): AsyncIterable<readonly StoredChange[]>;
  changes(after: number): AsyncIterable<readonly StoredChange[]>;
  /** `letGo` is called while others wait for a view; it says whether this one is given up. */
  onWanted?(letGo: () => boolean): void;
  close(): void;
}

export interface JobFeedSource {
  /** The last committed revision; never below what was published. */
  revision(): number;
  /** Reads boundary and content in one atomic step. Waits while the store cannot be read. */
  view(filter: JobFilter, signal: AbortSignal): Promise<JobFeedView>;
  /**
   * For stores whose reads are cached: resolves once `revision()` has reached this one, or is known to be the last. A
   * cursor beyond it then counts as of another past.
   */
  reach?(revision: number, signal: AbortSignal): Promise<void>;
}

export interface JobFeedDeps {
  readonly clock: Clock;
  readonly metrics: JobsMetrics;
  readonly source: JobFeedSource;
  /** One per store. */
  readonly quota: SubscriberQuota;
}

export interface JobFeedOptions {
  readonly jobId: string;
  /** What its cursors start with: see `cursor.ts`. */
  readonly base: string;
  /** With `latest` a reader that is behind gets the latest of each key; `block` is `coalesce`. */
  readonly history: History;
  /** Changes kept in memory for readers that are behind; 0 for history `latest`. */
  readonly ringChangesMax: number;
  /** And their bytes, about. */
  readonly ringBytesMax: number;
}

/** Counts the subscribers of a store, all of its jobs together, and refuses one too many. */
export class SubscriberQuota {
  readonly #metrics: JobsMetrics;
  #count = 0;

  constructor(metrics: JobsMetrics) {
    this.#metrics = metrics;
  }

  get count(): number {
    return this.#count;
  }

  /** Each `take` is given back once. */
  take(): void {
    const { value: subscribersMax } = jobsLimits.subscribersMax;
    if (this.#count >= subscribersMax) throw tooManySubscribers('the store', 'subscribersMax');
    this.#move(1);
  }

  giveBack(): void {
    this.#move(-1);
  }

  #move(by: 1 | -1): void {
    this.#count += by;
    this.#metrics.set('syncline_jobs_subscribers', this.#count);
  }
}

/** A subscription that is open: its events, and where to resume. */
export interface OpenedSubscription {
  readonly events: FeedSubscription<JobFeedChange, EncodedEvent>;
  cursor(): Cursor | undefined;
}

export class JobFeed {
  readonly #deps: JobFeedDeps;
  readonly #options: JobFeedOptions;
  readonly #feed: Feed<JobFeedChange, JobFilter>;
  #base: string;

  constructor(deps: JobFeedDeps, options: JobFeedOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#base = options.base;
    const { history, ringChangesMax: changesMax, ringBytesMax: bytesMax } = options;
    this.#feed = new Feed(
      { clock: deps.clock, store: this.#store() },
      {
        history,
        viewAgeMaxMs: jobsLimits.replayAgeMaxMs.value,
        liveIntervalMs: jobsLimits.liveIntervalMs.value,
        ring: { changesMax: history === 'latest' ? 0 : changesMax, bytesMax },
      },
    );
  }

  get base(): string {
    return this.#base;
  }

  get subscribersCount(): number {
    return this.#feed.subscribersCount;
  }

  /** Bytes of the changes that it keeps in memory, about. */
  get ringBytes(): number {
    return this.#feed.ringBytes;
  }

  /** Hands on what was committed, in order. It never waits for a subscriber. */
  publish(changes: readonly StoredChange[]): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#feed.publish(changes.map((change) => this.#feedChange(change, nowMs)));
  }

  /**
   * Throws what is wrong with the options, the cursor or the number of subscribers; that the task exists is for the
   * caller to check. Nothing is read before the first pull.
   */
  subscribe(options: StoreSubscribeOptions): OpenedSubscription {
    const checked = checkSubscribeOptions(options);
    const { after, buffer, signal } = checked;
    const { history } = this.#options;
    const overflow =
      history === 'latest' && checked.overflow === 'block' ? 'coalesce' : checked.overflow;
    const resume = after === undefined ? {} : this.#resumeAt(after);
    if (this.#feed.subscribersCount >= jobsLimits.subscribersPerJobMax.value)
      throw tooManySubscribers('the job', 'subscribersPerJobMax');
    const { quota } = this.#deps;
    quota.take();
    const presenter = new JobPresenter(
      { ...this.#deps, currentBase: () => this.#base },
      { history, overflow, after },
    );
    try {
      const events = this.#feed.subscribeAs(presenter, {
        ...resume,
        scope: jobFilter(checked),
        overflow,
        buffer: { eventsMax: buffer.maxEvents, bytesMax: buffer.maxBytes },
        ...(signal && { signal }),
      });
      return { events, cursor: () => presenter.cursorAt(events.position) };
    } catch (thrown) {
      quota.giveBack();
      throw thrown;
    }
  }

  /** The store is out of reach: subscribers get `stale` once they have what was published before. */
  markStale(stale: { readonly sinceMs: number; readonly attempt: number }): void {
    this.#feed.markStale(stale);
  }

  /** It is within reach again, and what happened meanwhile was published: those that got `stale` get `live`. */
  markLive(): void {
    this.#feed.markLive();
  }

  /** The store shows another past: subscribers get a `gap` reset and a new snapshot. */
  reset(base: string): void {
    this.#base = base;
    this.#feed.reset();
  }

  /** The job is deleted: subscribers get what was published, a `gap` deleted, and end. New ones are refused. */
  endDeleted(): void {
    this.#feed.endDeleted();
  }

  /** Subscribers get what was published, then this error with `details.cursor`. New ones are refused. */
  fail(error: SynclineError): void {
    this.#feed.fail(error);
  }

  /** Ends every subscription without an error, and refuses new ones. */
  close(): void {
    this.#feed.close();
  }

  #feedChange(change: StoredChange, publishedAtMs: number): JobFeedChange {
    const { jobId } = this.#options;
    return new JobFeedChange(change, { jobId, base: this.#base }, publishedAtMs);
  }

  #resumeAt(cursor: Cursor) {
    const { base, revision, isReplaying } = parseCursor(cursor);
    if (base !== this.#base) return { after: revision, seen: 'another-past' } as const;
    return { after: revision, seen: isReplaying ? 'replay' : 'all' } as const;
  }

  /** The job as the store that the kernel's feed reads. */
  #store(): FeedStore<JobFeedChange, JobFilter> {
    const { source } = this.#deps;
    const pages = async function* (this: JobFeed, from: AsyncIterable<readonly StoredChange[]>) {
      for await (const page of from) yield page.map((change) => this.#feedChange(change, 0));
    }.bind(this);
    return {
      revision: () => source.revision(),
      reach: async (revision, signal) => source.reach?.(revision, signal),
      view: async (filter, signal) => {
        const view = await source.view(filter, signal);
        return {
          revision: view.revision,
          compactedTo: view.compactedTo,
          latest: (after) => pages(view.latest(after)),
          changes: (after) => pages(view.changes(after)),
          onWanted: (letGo) => view.onWanted?.(letGo),
          close: () => view.close(),
        };
      },
      isInScope: (filter, { stored }) => matchesFilter(filter, stored),
      topicsOfScope: filterTopics,
      topicsOfChange: ({ topics }) => topics,
      bytesOf: ({ bytes }) => bytes,
    };
  }
}

interface JobPresenterDeps {
  readonly clock: Clock;
  readonly metrics: JobsMetrics;
  readonly quota: SubscriberQuota;
  currentBase(): string;
}

interface JobPresenterOptions {
  readonly history: History;
  readonly overflow: Overflow;
  readonly after: Cursor | undefined;
}

/** What one subscriber of a job sees, and what is measured of it. */
class JobPresenter implements FeedPresenter<JobFeedChange, EncodedEvent> {
  readonly #deps: JobPresenterDeps;
  readonly #options: JobPresenterOptions;
  /** Of the events that were handed out: after a reset still the old one, until its `gap` is. */
  #base: string;
  /** When the current or latest replay started. */
  #replayAtMs = 0;

  constructor(deps: JobPresenterDeps, options: JobPresenterOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#base = deps.currentBase();
  }

  cursorAt(position: FeedPosition | undefined): Cursor | undefined {
    if (!position) return this.#options.after;
    return formatCursor(this.#base, position.revision, position.isReplaying);
  }

  snapshot(change: JobFeedChange): EncodedEvent {
    this.#base = change.base;
    return change.replayEvent();
  }

  change(change: JobFeedChange): EncodedEvent {
    return change.event;
  }

  synced(revision: number, resumed: boolean): EncodedEvent {
    if (!resumed) this.#observeReplay();
    this.#base = this.#deps.currentBase();
    const { history } = this.#options;
    return { kind: 'synced', revision, base: this.#base, history, resumed };
  }

  gap(gap: FeedGap): EncodedEvent {
    if (gap.reason === 'reset') {
      this.#base = this.#deps.currentBase();
      this.#replayAtMs = this.#deps.clock.monotonicMs();
    }
    return gap;
  }

  stale(stale: FeedStale): EncodedEvent {
    return stale;
  }

  live(revision: number): EncodedEvent {
    return { kind: 'live', revision, base: this.#base };
  }

  overflow(revision: number): SynclineError {
    return new SynclineError(
      'overflow',
      'the subscriber was too slow and its buffer is full. Resume with `after` set to details.cursor, and ' +
        'read faster, allow a larger buffer or choose another overflow policy.',
      { details: { cursor: formatCursor(this.#base, revision) } },
    );
  }

  failure(error: SynclineError, position: FeedPosition | undefined): SynclineError {
    const { code, message, retryable, outcome } = error;
    const details = { ...error.details, cursor: this.cursorAt(position) };
    return new SynclineError(code, message, { retryable, outcome, details, cause: error });
  }

  onOpen(): void {
    this.#replayAtMs = this.#deps.clock.monotonicMs();
  }

  onLive(oldest: JobFeedChange): void {
    const delayMs = this.#deps.clock.monotonicMs() - oldest.publishedAtMs;
    this.#deps.metrics.observe('syncline_jobs_live_delivery_seconds', delayMs / 1000);
  }

  onDrop(): void {
    const reason = this.#options.overflow;
    this.#deps.metrics.add('syncline_jobs_subscription_drops_total', 1, { reason });
  }

  onEnd(): void {
    this.#deps.quota.giveBack();
  }

  /** A resume replays nothing. */
  #observeReplay(): void {
    const durationMs = this.#deps.clock.monotonicMs() - this.#replayAtMs;
    this.#deps.metrics.observe('syncline_jobs_replay_duration_seconds', durationMs / 1000);
  }
}

function tooManySubscribers(
  what: string,
  limit: 'subscribersMax' | 'subscribersPerJobMax',
): SynclineError {
  const { value } = jobsLimits[limit];
  return new SynclineError(
    'limit-exceeded',
    `${what} has ${value} subscribers, which is the limit. End one before you open another.`,
    { details: { limit } },
  );
}
