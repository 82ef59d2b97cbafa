// A job's feed on a log in memory.
import {
  type Clock,
  createSystemClock,
  type Metrics,
  SynclineError,
  silentMetrics,
} from '@syncline/kernel';
import {
  changeTopics,
  decodeEvent,
  type EncodedEvent,
  JobFeedChange,
  type JobFilter,
  jobChange,
  leaseChange,
  matchesFilter,
  type StoredChange,
  stateChange,
} from '../engine/changes.js';
import { storeSubscription } from '../engine/checked-job-store.js';
import {
  JobFeed,
  type JobFeedOptions,
  type JobFeedSource,
  type JobFeedView,
  type OpenedSubscription,
  SubscriberQuota,
} from '../engine/job-feed.js';
import { type State, statusClass } from '../job.js';
import { type JobEvent, parseCursor, type StoreSubscribeOptions } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { StoredState } from '../wire/messages.js';
import type { JobChange } from './trace/keys.js';

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
      ring: { changesMax: jobsLimits.memoryRevisionsMax.value, bytesMax: Number.POSITIVE_INFINITY },
      ...options,
    },
  );
  /** Writes states, one per name: `3a` is task 3, tag `a`. */
  const write = (...cells: string[]) => {
    feed.publishStored(
      cells.map((cell) => encodeChange(source.state(Number(cell[0]), cell.slice(1)))),
    );
  };
  const publish = (...changes: JobChange[]) => feed.publishStored(changes.map(encodeChange));
  const subscribe = (more: Partial<StoreSubscribeOptions> = {}) =>
    subscribed(feed.open({ scope: {}, ...more }), more);
  return { clock, source, quota, feed, write, publish, subscribe };
}

/** Opened at once. */
function subscribed(opened: OpenedSubscription, options: Partial<StoreSubscribeOptions>) {
  return storeSubscription(() => opened, options, decodeEvent);
}

/** Lets everything happen that waits for nothing but its turn. */
export const settle = (): Promise<void> =>
  new Promise((resolve) => void createSystemClock().defer(resolve));

// A source for tests of the feed: the whole log in a list, and a lever for everything that can go wrong with it.

export interface LogSourceOptions {
  /** Changes per page of a view. */
  readonly pageMax: number;
  /** Called before each page, and before a view is given. */
  readonly beforeRead?: () => Promise<void>;
}

class LogSource implements JobFeedSource {
  readonly #options: LogSourceOptions;
  readonly #versions = new Map<string, number>();
  #log: JobChange[] = [];
  #compactedTo = 0;
  #openings = 0;
  openViewsCount = 0;

  constructor(options: LogSourceOptions) {
    this.#options = options;
  }

  get log(): readonly JobChange[] {
    return this.#log;
  }

  revision(): number {
    return this.#log.length;
  }

  state(taskId: number, tag: string, status = 1): JobChange {
    const revision = this.#log.length + 1;
    const version = (this.#versions.get(`${taskId} ${tag}`) ?? 0) + 1;
    this.#versions.set(`${taskId} ${tag}`, version);
    return this.#commit({
      kind: 'state',
      revision,
      timestampMs: revision,
      state: {
        jobId: 'nightly',
        taskId,
        tag,
        status,
        statusClass: statusClass(status),
        message: '',
        timestampMs: revision,
        version,
        revision,
        eventId: `e${revision}`,
        schemaVersion: 1,
      },
    });
  }

  lease(taskId: number, state: 'held' | 'lost' = 'held'): JobChange {
    const revision = this.#log.length + 1;
    const lease = { taskId, epoch: 1, state, ttlMs: 1_000, expiresAtMs: 0, holder: 'h', revision };
    return this.#commit({ kind: 'lease', revision, timestampMs: revision, lease });
  }

  job(incarnation: string): JobChange {
    const revision = this.#log.length + 1;
    const fixed = { jobId: 'nightly', incarnation, numTasks: 4, expectedTags: [], labels: {} };
    const job = { ...fixed, createdAtMs: 1, revision, changedAtMs: revision };
    return this.#commit({ kind: 'job', revision, timestampMs: revision, job });
  }

  /** Views still have every change, but say that they might not. */
  compact(keepCount: number): void {
    this.#compactedTo = Math.max(this.#compactedTo, this.#log.length - keepCount);
  }

  /** Closes its views, as a store that is reopened. */
  reopen(): void {
    this.#openings += 1;
  }

  /** Another past: an empty one. */
  forget(): void {
    this.#log = [];
    this.#versions.clear();
    this.#compactedTo = 0;
    this.reopen();
  }

  async view(filter: JobFilter): Promise<JobFeedView> {
    await this.#options.beforeRead?.();
    const log = this.#log.map(encodeChange);
    const compactedTo = this.#compactedTo;
    const opening = this.#openings;
    this.openViewsCount += 1;
    const pages = (changes: readonly StoredChange[], after: number) => {
      const wanted = changes.filter(
        (change) => change.revision > after && matchesFilter(filter, change),
      );
      return this.#pages(wanted, opening);
    };
    const changes = log.filter(({ revision }) => revision > compactedTo);
    return {
      revision: log.length,
      compactedTo,
      latest: (after) => pages(latestOf(log), after),
      changes: (after) => pages(changes, after),
      close: () => {
        this.openViewsCount -= 1;
      },
    };
  }

  #commit(change: JobChange): JobChange {
    this.#log.push(change);
    return change;
  }

  async *#pages(
    changes: readonly StoredChange[],
    opening: number,
  ): AsyncGenerator<readonly StoredChange[]> {
    const { pageMax, beforeRead } = this.#options;
    for (let at = 0; at < changes.length; at += pageMax) {
      await beforeRead?.();
      if (this.#openings !== opening) throw new SynclineError('unavailable', 'reopened');
      yield changes.slice(at, at + pageMax);
    }
  }
}

function latestOf(log: readonly StoredChange[]): readonly StoredChange[] {
  const byKey = new Map(log.map((change) => [changeTopics(change)[0], change.revision]));
  return log.filter((change) => byKey.get(changeTopics(change)[0]) === change.revision);
}

// Changes and events in the form that programs see, encoded as a store would.

/** Of a change in the form that programs see. */
function encodeChange(change: JobChange): StoredChange {
  switch (change.kind) {
    case 'state':
      return stateChange(withPayloadJson(change.state));
    case 'lease':
      return leaseChange(change.lease, change.timestampMs);
    case 'job':
      return jobChange(change.job);
  }
}

export function encodedEvent(event: JobEvent, jobId: string): EncodedEvent {
  if (event.kind === 'gap' || event.kind === 'stale') return event;
  const { base, isReplaying } = parseCursor(event.cursor);
  if (event.kind === 'synced') {
    const { cursor: _, ...synced } = event;
    return { ...synced, base };
  }
  if (event.kind === 'live') return { kind: 'live', revision: event.revision, base };
  const change = new JobFeedChange(encodeChange(changeOf(event)), { jobId, base }, 0);
  return isReplaying ? change.replayEvent() : change.event;
}

function changeOf(event: Extract<JobEvent, { kind: 'snapshot' | 'change' | 'lease' | 'job' }>) {
  switch (event.kind) {
    case 'lease':
      return {
        kind: 'lease',
        revision: event.lease.revision,
        timestampMs: 0,
        lease: event.lease,
      } as const;
    case 'job':
      return { kind: 'job', revision: event.job.revision, timestampMs: 0, job: event.job } as const;
    default: {
      const { revision, timestampMs } = event.state;
      return { kind: 'state', revision, timestampMs, state: event.state } as const;
    }
  }
}

function withPayloadJson(state: State): StoredState {
  const { payload, payloadIssues: _, rawPayload: __, statusName: ___, ...stored } = state;
  return payload === undefined ? stored : { ...stored, payloadJson: JSON.stringify(payload) };
}
