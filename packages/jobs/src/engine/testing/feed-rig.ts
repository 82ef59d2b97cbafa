// A job's feed on a log in memory.
import { type Clock, createSystemClock, type Metrics, silentMetrics } from '@syncline/kernel';
import type { JobChange } from '../../core/rows.js';
import type { StoreSubscribeOptions } from '../../job-event.js';
import { jobsLimits } from '../../limits.js';
import { decodeEvent } from '../feed-event.js';
import {
  JobFeed,
  type JobFeedOptions,
  type OpenedSubscription,
  SubscriberQuota,
} from '../job-feed.js';
import { storeSubscription } from '../store-subscription.js';
import { encodeChange } from '../stored-change.js';
import { LogSource } from './log-source.js';

export interface FeedRigOptions extends Partial<JobFeedOptions> {
  readonly clock?: Clock;
  readonly metrics?: Metrics;
  readonly pageMax?: number;
  readonly beforeRead?: () => Promise<void>;
}

export function createFeedRig(options: FeedRigOptions = {}) {
  const { clock = createSystemClock(), metrics = silentMetrics, pageMax = 2 } = options;
  const { beforeRead } = options;
  const source = new LogSource({ pageMax, ...(beforeRead && { beforeRead }) });
  const quota = new SubscriberQuota(metrics);
  const feed = new JobFeed(
    { clock, metrics, source, quota },
    {
      jobId: 'nightly',
      base: 'i1',
      history: 'all',
      ringChangesMax: jobsLimits.memoryRevisionsMax.value,
      ringBytesMax: Number.POSITIVE_INFINITY,
      ...options,
    },
  );
  /** Writes states, one per name: `3a` is task 3, tag `a`. */
  const write = (...cells: string[]) => {
    feed.publish(cells.map((cell) => encodeChange(source.state(Number(cell[0]), cell.slice(1)))));
  };
  const publish = (...changes: JobChange[]) => feed.publish(changes.map(encodeChange));
  const subscribe = (more: Partial<StoreSubscribeOptions> = {}) =>
    subscribed(feed.subscribe({ scope: {}, ...more }), more);
  return { clock, source, quota, feed, write, publish, subscribe };
}

/** Opened at once. */
function subscribed(opened: OpenedSubscription, options: Partial<StoreSubscribeOptions>) {
  return storeSubscription(() => opened, options, decodeEvent);
}

/** Lets everything happen that waits for nothing but its turn. */
export const settle = (): Promise<void> =>
  new Promise((resolve) => void createSystemClock().defer(resolve));
