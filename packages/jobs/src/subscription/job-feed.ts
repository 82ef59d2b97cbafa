// JobFeed: hands what a job commits to its subscribers, replayed then live. One per job and store.
//
// The store calls `publish` once a commit is as durable as it was asked to be, in order of revisions.
import { type Clock, Feed, SynclineError } from '@syncline/kernel';
import { checkSubscribeOptions } from '../checks/subscribe-input.js';
import type { JobChange } from '../core/rows.js';
import { parseCursor } from '../cursor.js';
import type { Cursor, History, JobSubscription, StoreSubscribeOptions } from '../job-event.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import { JobFeedChange } from './feed-change.js';
import type { JobFeedSource } from './job-feed-source.js';
import { JobFeedSubscription } from './job-feed-subscription.js';
import { type JobFilter, jobFilter } from './job-filter.js';
import { JobPresenter } from './job-presenter.js';
import { SourceStore } from './source-store.js';
import type { SubscriberQuota } from './subscriber-quota.js';

export interface JobFeedDeps {
  readonly clock: Clock;
  readonly metrics: JobsMetrics;
  readonly source: JobFeedSource;
  /** One per store. */
  readonly quota: SubscriberQuota;
}

export interface JobFeedOptions {
  /** What its cursors begin with: see `cursor.ts`. */
  readonly base: string;
  /** Default `all`. With `latest` a reader that is behind gets the latest of each key; `block` is `coalesce`. */
  readonly history?: History;
  /** Changes kept in memory for readers who are behind. Default `memoryRevisionsMax`; 0 for history `latest`. */
  readonly ringChangesMax?: number;
  /** And their bytes, about. Default: no bound. */
  readonly ringBytesMax?: number;
  /** Default `subscribersPerJobMax`. */
  readonly subscribersMax?: number;
  /** Default `replayAgeMaxMs`. */
  readonly replayAgeMaxMs?: number;
  /** Default `liveIntervalMs`. */
  readonly liveIntervalMs?: number;
}

/** A change that was sent to somebody is there twice: as it is, and as bytes for the next (`frame-writer.ts`). */
const COPIES = 2;

export class JobFeed {
  readonly #deps: JobFeedDeps;
  readonly #history: History;
  readonly #subscribersMax: number;
  readonly #feed: Feed<JobFeedChange, JobFilter>;
  #base: string;

  constructor(deps: JobFeedDeps, options: JobFeedOptions) {
    const { history = 'all' } = options;
    const { memoryRevisionsMax, replayAgeMaxMs, liveIntervalMs, subscribersPerJobMax } = jobsLimits;
    this.#deps = deps;
    this.#base = options.base;
    this.#history = history;
    this.#subscribersMax = options.subscribersMax ?? subscribersPerJobMax.value;
    const changesMax = options.ringChangesMax ?? memoryRevisionsMax.value;
    this.#feed = new Feed(
      { clock: deps.clock, store: new SourceStore(deps.source, () => this.#base) },
      {
        history,
        viewAgeMaxMs: options.replayAgeMaxMs ?? replayAgeMaxMs.value,
        liveIntervalMs: options.liveIntervalMs ?? liveIntervalMs.value,
        ring: {
          changesMax: history === 'latest' ? 0 : changesMax,
          bytesMax: (options.ringBytesMax ?? Number.POSITIVE_INFINITY) / COPIES,
        },
      },
    );
  }

  /** What its cursors begin with. */
  get base(): string {
    return this.#base;
  }

  get subscribersCount(): number {
    return this.#feed.subscribersCount;
  }

  /** Bytes of the changes that it keeps in memory, about, with those of frames that were made of them. */
  get ringBytes(): number {
    return this.#feed.ringBytes * COPIES;
  }

  /** Hands on what was committed, in order. Synchronous: it never waits for a subscriber. */
  publish(changes: readonly JobChange[]): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#feed.publish(changes.map((change) => new JobFeedChange(change, this.#base, nowMs)));
  }

  /**
   * Throws what is wrong with the options, the cursor or the number of subscribers; only that a task exists is
   * the caller's to check. Nothing is read before the first pull.
   */
  subscribe(options: StoreSubscribeOptions): JobSubscription {
    const checked = checkSubscribeOptions(options);
    const { after, buffer, signal } = checked;
    const overflow =
      this.#history === 'latest' && checked.overflow === 'block' ? 'coalesce' : checked.overflow;
    const resume = after === undefined ? {} : this.#resumeAt(after);
    this.#checkRoom();
    const { clock, metrics, quota } = this.#deps;
    quota.take();
    const presenter = new JobPresenter(
      { clock, metrics, currentBase: () => this.#base, onEnd: () => quota.giveBack() },
      { history: this.#history, overflow, after },
    );
    try {
      const inner = this.#feed.subscribeAs(presenter, {
        ...resume,
        scope: jobFilter(checked),
        overflow,
        buffer: { eventsMax: buffer.maxEvents, bytesMax: buffer.maxBytes },
        ...(signal && { signal }),
      });
      return new JobFeedSubscription(inner, presenter);
    } catch (thrown) {
      quota.giveBack();
      throw thrown;
    }
  }

  /** The store is out of reach: subscribers hear `stale` once they have what was published before. */
  markStale(stale: { readonly sinceMs: number; readonly attempt: number }): void {
    this.#feed.markStale(stale);
  }

  /** It is within reach again, and what happened meanwhile was published: who heard `stale` hears `live`. */
  markLive(): void {
    this.#feed.markLive();
  }

  /** The store shows another past: subscribers get a `gap` reset and a new snapshot of what `source` is now. */
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

  #resumeAt(cursor: Cursor) {
    const { base, revision, isReplaying } = parseCursor(cursor);
    if (base !== this.#base) return { after: revision, seen: 'another-past' } as const;
    return { after: revision, seen: isReplaying ? 'replay' : 'all' } as const;
  }

  #checkRoom(): void {
    if (this.#feed.subscribersCount < this.#subscribersMax) return;
    throw new SynclineError(
      'limit-exceeded',
      `the job has ${this.#subscribersMax} subscribers, which is its limit. End one before the next.`,
      { details: { limit: 'subscribersPerJobMax' } },
    );
  }
}
