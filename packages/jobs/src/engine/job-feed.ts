// Delivers a job's committed changes to its subscribers: first a replay, then live. There is one feed per job and store.
import type { BufferRoom, Clock, FeedPosition, FeedPresenter, FeedStore } from '@syncline/kernel';
import { Feed, type FeedSubscription, SynclineError } from '@syncline/kernel';
import { checkSubscribeOptions } from '../checks/input.js';
import { checkRoom } from '../checks/values.js';
import type { Mutable } from '../job.js';
import type { Cursor, History, Overflow, StoreSubscribeOptions } from '../job-store.js';
import { formatCursor, parseCursor } from '../job-store.js';
import { limitValues } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { EncodedEvent, FeedJob, JobFilter, StoredChange } from './changes.js';
import { filterTopics, JobFeedChange, jobFilter, matchesFilter } from './changes.js';
import type { StoreView } from './store-adapter.js';

export interface JobFeedView extends StoreView {
  /** `tryRelease` is called while others wait for a view. It returns whether this one is released. */
  onWanted?(tryRelease: () => boolean): void;
}

export interface JobFeedSource {
  /** The last committed revision; never below what was published. */
  revision(): number;
  /** Reads the revision and the content in one atomic step. Waits while the store cannot be read. */
  view(filter: JobFilter, signal: AbortSignal): Promise<JobFeedView>;
  /** If reads are cached: resolves once `revision()` has reached this one, or is known to be current. */
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

const END_ONE = '. End one before you open another.';

/** Counts the subscribers of a store, across all jobs, and the bytes in their buffers. */
export class SubscriberQuota implements BufferRoom {
  readonly #metrics: JobsMetrics;
  count = 0;
  #bytes = 0;

  constructor(metrics: JobsMetrics) {
    this.#metrics = metrics;
  }

  get isFull(): boolean {
    return this.#bytes >= limitValues.buffersBytesMax;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Every 1 must be followed by exactly one −1. */
  addSubscriber(count: 1 | -1): void {
    if (count === 1)
      checkRoom('subscribersMax', this.count + 1, 'subscribers of the store', END_ONE);
    this.count += count;
    this.#metrics.set('syncline_jobs_subscribers', this.count);
  }
}

export interface OpenedSubscription {
  readonly events: FeedSubscription<JobFeedChange, EncodedEvent>;
  cursor(): Cursor | undefined;
}

export class JobFeed extends Feed<JobFeedChange, JobFilter> {
  readonly #deps: JobFeedDeps;
  readonly #job: Mutable<FeedJob>;
  readonly #history: History;

  constructor(deps: JobFeedDeps, options: JobFeedOptions) {
    const { jobId, base, history, ring = { changesMax: 0, bytesMax: 0 } } = options;
    const { replayAgeMaxMs: viewAgeMaxMs, liveIntervalMs } = limitValues;
    const job = { jobId, base };
    super(
      { clock: deps.clock, store: feedStore(deps.source, job), room: deps.quota },
      { history, viewAgeMaxMs, liveIntervalMs, ring },
    );
    this.#deps = deps;
    this.#job = job;
    this.#history = history;
  }

  get base(): string {
    return this.#job.base;
  }

  publishStored(changes: readonly StoredChange[]): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.publish(changes.map((change) => new JobFeedChange(change, this.#job, nowMs)));
  }

  /** Nothing is read before the first pull. */
  open(options: StoreSubscribeOptions, numTasks?: number): OpenedSubscription {
    const checked = checkSubscribeOptions(options, numTasks);
    const { after, buffer, signal } = checked;
    const history = this.#history;
    const overflow =
      history === 'latest' && checked.overflow === 'block' ? 'coalesce' : checked.overflow;
    const resume = after === undefined ? {} : this.#resumeAt(after);
    const count = this.subscribersCount + 1;
    checkRoom('subscribersPerJobMax', count, 'subscribers of the job', END_ONE);
    const { quota } = this.#deps;
    quota.addSubscriber(1);
    const presenter = jobPresenter(this.#deps, this.#job, { history, overflow, after });
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
      quota.addSubscriber(-1);
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
    if (base !== this.base) return { after: revision, seen: 'other-history' } as const;
    return { after: revision, seen: isReplaying ? 'replay' : 'all' } as const;
  }
}

function feedStore(source: JobFeedSource, job: FeedJob): FeedStore<JobFeedChange, JobFilter> {
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

interface JobPresenter extends FeedPresenter<JobFeedChange, EncodedEvent> {
  cursorAt(position: FeedPosition | undefined): Cursor | undefined;
}

/** Creates the events of one subscriber, and records its metrics. `job.base` changes on a reset. */
function jobPresenter(
  { clock, metrics, quota }: JobFeedDeps,
  job: FeedJob,
  options: Readonly<{ history: History; overflow: Overflow; after: Cursor | undefined }>,
): JobPresenter {
  const { history, overflow, after } = options;
  /** Of the delivered events: after a reset, the old one until the `gap` is delivered. */
  let { base } = job;
  let replayAtMs = 0;
  const cursorAt: JobPresenter['cursorAt'] = (position) =>
    position ? formatCursor(base, position.revision, position.isReplaying) : after;
  return {
    cursorAt,
    snapshot(change) {
      ({ base } = change);
      return change.replayEvent();
    },
    change: ({ event }) => event,
    synced(revision, resumed) {
      // A resume replays nothing.
      const seconds = (clock.monotonicMs() - replayAtMs) / 1000;
      if (!resumed) metrics.observe('syncline_jobs_replay_duration_seconds', seconds);
      ({ base } = job);
      return { kind: 'synced', revision, base, history, resumed };
    },
    gap(gap) {
      if (gap.reason === 'reset') {
        ({ base } = job);
        replayAtMs = clock.monotonicMs();
      }
      return gap;
    },
    stale: (stale) => stale,
    live: (revision) => ({ kind: 'live', revision, base }),
    overflow: (revision) =>
      new SynclineError(
        'overflow',
        'the subscriber was too slow and its buffer is full. Resume with `after` set to details.cursor, and ' +
          'read faster, allow a larger buffer or choose another overflow policy.',
        { details: { cursor: formatCursor(base, revision) } },
      ),
    failure: (error, position) =>
      error.with({ details: { ...error.details, cursor: cursorAt(position) } }),
    onOpen() {
      replayAtMs = clock.monotonicMs();
    },
    onLive({ publishedAtMs }) {
      const seconds = (clock.monotonicMs() - publishedAtMs) / 1000;
      metrics.observe('syncline_jobs_live_delivery_seconds', seconds);
    },
    onDrop(why) {
      const reason = why === 'full' ? overflow : 'cancel';
      metrics.add('syncline_jobs_subscription_drops_total', 1, { reason });
    },
    onEnd: () => quota.addSubscriber(-1),
  };
}
