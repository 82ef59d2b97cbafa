// What a `JobFeed` needs of the store behind it: one consistent view of one job at a time.
import type { JobChange } from '../core/rows.js';
import type { JobFilter } from './job-filter.js';

/**
 * One moment of a job, fixed when it was made. Both reads ascend by revision, end at `revision`, hold only
 * what the filter wants, and come in pages that the store bounds. A view that was lost because the store was
 * opened anew throws `unavailable` from its reads; the feed then goes on with another one.
 */
export interface JobFeedView {
  /** The last committed change that this view holds: the R of a replay. */
  readonly revision: number;
  /** Changes up to here may be missing from `changes`, never from `latest`. */
  readonly compactedTo: number;
  /** The latest change of each key, task lease and of the metadata, of those above `after`. */
  latest(after: number): AsyncIterable<readonly JobChange[]>;
  /** Every change above `after`, which is at least `compactedTo`. Not asked of history `latest`. */
  changes(after: number): AsyncIterable<readonly JobChange[]>;
  /** Takes what is to be called while others wait for room: true, and the view is let go. */
  onWanted?(letGo: () => boolean): void;
  close(): void;
}

export interface JobFeedSource {
  /** The last committed revision; never below what was published. */
  revision(): number;
  /** Reads boundary and content in one atomic step. Waits while the store cannot be read. */
  view(filter: JobFilter, signal: AbortSignal): Promise<JobFeedView>;
  /**
   * For stores whose reads are cached: resolves once `revision()` has reached this one, or is known to be the
   * last. A cursor beyond it then counts as of another past. Stores that know their last revision leave it out.
   */
  reach?(revision: number, signal: AbortSignal): Promise<void>;
}
