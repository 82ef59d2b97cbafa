// JobFeed: hands what a job commits to its subscribers, replayed then live. One per job and store.
//
// The store calls `publish` once a commit is as durable as it was asked to be, in order of revisions.
import type { Clock, SynclineError } from '@syncline/kernel';
import type { JobChange } from '../core/rows.js';
import type { Cursor, History, JobSubscription, StoreSubscribeOptions } from '../job-event.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { JobFeedSource } from './job-feed-source.js';
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

export class JobFeed {
  readonly #deps: JobFeedDeps;
  readonly #options: JobFeedOptions;

  constructor(deps: JobFeedDeps, options: JobFeedOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  get base(): string {
    return this.#options.base;
  }

  get subscribersCount(): number {
    return this.#deps.quota.count;
  }

  /** Bytes of the changes that it keeps in memory, about. */
  get ringBytes(): number {
    return 0;
  }

  /** Hands on what was committed, in order. Synchronous: it never waits for a subscriber. */
  publish(_changes: readonly JobChange[]): void {
    throw new Error('not there yet');
  }

  /**
   * Throws what is wrong with the cursor, the buffer or the number of subscribers; the scope is the caller's to
   * check, who knows the tasks. Nothing is read before the first pull.
   */
  subscribe(_options: StoreSubscribeOptions): JobSubscription {
    throw new Error('not there yet');
  }

  /** The store is out of reach: subscribers hear `stale` once they have what was published before. */
  markStale(_stale: { readonly sinceMs: number; readonly attempt: number }): void {
    throw new Error('not there yet');
  }

  /** It is within reach again, and what happened meanwhile was published: who heard `stale` hears `live`. */
  markLive(): void {
    throw new Error('not there yet');
  }

  /** The store shows another past: subscribers get a `gap` reset and a new snapshot, from what `source` is now. */
  reset(_base: string): void {
    throw new Error('not there yet');
  }

  /** The job is deleted: subscribers get what was published, a `gap` deleted, and end. Then it is closed. */
  endDeleted(): void {
    throw new Error('not there yet');
  }

  /** Subscribers get what was published, then this error with their cursor. Then it is closed. */
  fail(_errorAt: (cursor: Cursor | undefined) => SynclineError): void {
    throw new Error('not there yet');
  }

  /** Ends every subscription without an error, and refuses new ones. */
  close(): void {}
}
