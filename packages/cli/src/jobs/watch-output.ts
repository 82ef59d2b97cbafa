// Where a watch shows what comes: a table, or lines.
import type { FollowItem } from './follow-job.js';
import type { Ending } from './job-watch.js';

export interface WatchOutput {
  /** Called with all that comes, in order. */
  show(item: FollowItem): void;
  /** Nobody reads it any more. */
  readonly isUnread: boolean;
  /** May be called twice; the first ending counts. */
  end(ending?: Ending): void;
}
