// JobFeed delivers a job's committed changes to its subscribers: first a replay, then live. One per job and store.
//
// The engine publishes a commit once it is as durable as requested, in order of revision.
import {
  type BufferRoom,
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
import { checkSubscribeOptions } from '../checks/input.js';
import type { Cursor, History, Overflow, StoreSubscribeOptions } from '../job-store.js';
import { formatCursor, parseCursor } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { StoredChange } from './changes.js';
import {
  type EncodedEvent,
  filterTopics,
  JobFeedChange,
  type JobFilter,
  jobFilter,
  matchesFilter,
} from './changes.js';
import type { StoreView } from './store-adapter.js';

export interface JobFeedView extends StoreView {
  /** `letGo` is called while others wait for a view. It returns whether this one is released. */
  onWanted?(letGo: () => boolean): void;
}

export interface JobFeedSource {
  /** The last committed revision; never below what was published. */
  revision(): number;
  /** Reads the revision and the content in one atomic step. Waits while the store cannot be read. */
  view(filter: JobFilter, signal: AbortSignal): Promise<JobFeedView>;
  /**
   * For stores whose reads are cached: resolves once `revision()` has reached this revision, or is known to be current.
   * A cursor beyond it is then treated as belonging to another history.
   */
  reach?(revision: number, signal: AbortSignal): Promise<void>;
}

export interface JobFeedDeps {
  readonly clock: Clock;
  readonly metrics: JobsMetrics;
  readonly source: JobFeedSource;
  readonly quota: SubscriberQuota;
}

export interface JobFeedOptions {
  readonly jobId: string;
  readonly base: string;
  /** With `latest`, a reader that is behind gets the latest change of each key, and `block` acts as `coalesce`. */
  readonly history: History;
  /** Changes kept in memory for readers that are behind. Default: none. */
  readonly ring?: { readonly changesMax: number; readonly bytesMax: number };
}

/** Counts the subscribers of a store, across all jobs, and the bytes in their buffers. */
export class SubscriberQuota implements BufferRoom {
  readonly #metrics: JobsMetrics;
  #count = 0;
  #bytes = 0;

  constructor(metrics: JobsMetrics) {
    this.#metrics = metrics;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether the buffers have reached their shared limit. */
  get isFull(): boolean {
    return this.#bytes >= jobsLimits.buffersBytesMax.value;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Every `take` must be followed by exactly one `giveBack`. */
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

/** An open subscription: its events, and the cursor to resume from. */
export interface OpenedSubscription {
  readonly events: FeedSubscription<JobFeedChange, EncodedEvent>;
  cursor(): Cursor | undefined;
}

export class JobFeed extends Feed<JobFeedChange, JobFilter> {
  readonly #deps: JobFeedDeps;
  readonly #job: { readonly jobId: string; base: string };
  readonly #history: History;

  constructor(deps: JobFeedDeps, options: JobFeedOptions) {
    const { jobId, base, history, ring = { changesMax: 0, bytesMax: 0 } } = options;
    const job = { jobId, base };
    super(
      { clock: deps.clock, store: feedStore(deps.source, job), room: deps.quota },
      {
        history,
        viewAgeMaxMs: jobsLimits.replayAgeMaxMs.value,
        liveIntervalMs: jobsLimits.liveIntervalMs.value,
        ring,
      },
    );
    this.#deps = deps;
    this.#job = job;
    this.#history = history;
  }

  get base(): string {
    return this.#job.base;
  }

  /** Publishes committed changes, in order. Never waits for a subscriber. */
  publishStored(changes: readonly StoredChange[]): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.publish(changes.map((change) => new JobFeedChange(change, this.#job, nowMs)));
  }

  /**
   * Throws if the options or the cursor are invalid or there are too many subscribers. The caller must check that the
   * task exists. Nothing is read before the first pull.
   */
  open(options: StoreSubscribeOptions): OpenedSubscription {
    const checked = checkSubscribeOptions(options);
    const { after, buffer, signal } = checked;
    const history = this.#history;
    const overflow =
      history === 'latest' && checked.overflow === 'block' ? 'coalesce' : checked.overflow;
    const resume = after === undefined ? {} : this.#resumeAt(after);
    if (this.subscribersCount >= jobsLimits.subscribersPerJobMax.value)
      throw tooManySubscribers('the job', 'subscribersPerJobMax');
    const { quota } = this.#deps;
    quota.take();
    const presenter = new JobPresenter(this.#deps, this.#job, { history, overflow, after });
    try {
      const events = this.subscribeAs(presenter, {
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

  /** The store's history has changed: subscribers get a `gap` with reason `reset`, then a new snapshot. */
  resetTo(base: string): void {
    this.#job.base = base;
    this.reset();
  }

  #resumeAt(cursor: Cursor) {
    const { base, revision, isReplaying } = parseCursor(cursor);
    if (base !== this.base) return { after: revision, seen: 'another-past' } as const;
    return { after: revision, seen: isReplaying ? 'replay' : 'all' } as const;
  }
}

function feedStore(
  source: JobFeedSource,
  job: { readonly jobId: string; readonly base: string },
): FeedStore<JobFeedChange, JobFilter> {
  async function* pages(from: AsyncIterable<readonly StoredChange[]>) {
    for await (const page of from) yield page.map((change) => new JobFeedChange(change, job, 0));
  }
  return {
    revision: () => source.revision(),
    reach: async (revision, signal) => source.reach?.(revision, signal),
    view: async (filter, signal) => {
      const view = await source.view(filter, signal);
      return {
        ...view,
        latest: (after) => pages(view.latest(after)),
        changes: (after) => pages(view.changes(after)),
      };
    },
    isInScope: (filter, { stored }) => matchesFilter(filter, stored),
    topicsOfScope: filterTopics,
    topicsOfChange: ({ topics }) => topics,
    bytesOf: ({ bytes }) => bytes,
  };
}

interface JobPresenterOptions {
  readonly history: History;
  readonly overflow: Overflow;
  readonly after: Cursor | undefined;
}

/** Creates the events of one subscriber, and records its metrics. */
class JobPresenter implements FeedPresenter<JobFeedChange, EncodedEvent> {
  readonly #deps: JobFeedDeps;
  /** `base` changes on a reset. */
  readonly #job: { readonly base: string };
  readonly #options: JobPresenterOptions;
  /** The base of the delivered events: after a reset, the old one until the `gap` is delivered. */
  #base: string;
  /** When the current or latest replay started. */
  #replayAtMs = 0;

  constructor(deps: JobFeedDeps, job: { readonly base: string }, options: JobPresenterOptions) {
    this.#deps = deps;
    this.#job = job;
    this.#options = options;
    this.#base = job.base;
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
    this.#base = this.#job.base;
    const { history } = this.#options;
    return { kind: 'synced', revision, base: this.#base, history, resumed };
  }

  gap(gap: FeedGap): EncodedEvent {
    if (gap.reason === 'reset') {
      this.#base = this.#job.base;
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
    return error.with({ details: { ...error.details, cursor: this.cursorAt(position) } });
  }

  onOpen(): void {
    this.#replayAtMs = this.#deps.clock.monotonicMs();
  }

  onLive(oldest: JobFeedChange): void {
    const delayMs = this.#deps.clock.monotonicMs() - oldest.publishedAtMs;
    this.#deps.metrics.observe('syncline_jobs_live_delivery_seconds', delayMs / 1000);
  }

  onDrop(why: 'full' | 'closed'): void {
    const reason = why === 'full' ? this.#options.overflow : 'cancel';
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
