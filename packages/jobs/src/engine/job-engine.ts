// The engine shared by all adapters. Writes are decided in job-writes.ts and committed in commits.ts, reads are served
// by job-reads.ts, and storage is left to the adapter. Input has already been checked.
import { SynclineError, type Timer } from '@syncline/kernel';
import { type Checks, checkMembers, number, orDefault } from '@syncline/kernel/checks';
import { checkJobId } from '../checks/values.js';
import type { StoreCapabilities, StoreSubscribeOptions } from '../job-store.js';
import { limitValues } from '../limits.js';
import { LocalJobStore, type StoreWrites } from './checked-job-store.js';
import { Commits } from './commits.js';
import { type Compaction, createCompaction } from './compaction.js';
import { JobCache } from './job-cache.js';
import type { JobFeedSource, OpenedSubscription } from './job-feed.js';
import { JobFeed, SubscriberQuota } from './job-feed.js';
import type { JobMirror } from './job-mirror.js';
import { JobReads } from './job-reads.js';
import { jobWrites } from './job-writes.js';
import { createLeases, type Leases } from './leases.js';
import type { AdapterHost, EngineDeps, StoreAdapter, StoreStart } from './store-adapter.js';

/** Limits that can be set for one store. limits.ts explains them and has their defaults. */
export interface EngineOptions {
  readonly cacheBytesMax?: number;
  readonly retentionRevisionsMax?: number;
  readonly retentionMs?: number;
  readonly retentionBytesMax?: number;
  readonly compactionKeysMax?: number;
  readonly memoryRevisionsMax?: number;
  readonly openSnapshotsMax?: number;
}

const checkLimit = number('limit', 1, Number.POSITIVE_INFINITY);
const LIMITS = Object.fromEntries(
  Object.entries(limitValues).map(([name, value]) => [name, orDefault(checkLimit, value)]),
) as Checks<Required<EngineOptions>>;

/** Opens a job store on an adapter. Closing the store closes the adapter. */
export async function openJobStore(
  adapter: StoreAdapter,
  deps: EngineDeps,
  options: EngineOptions = {},
): Promise<EngineJobStore> {
  const engine = new EngineJobStore(adapter, deps, options);
  engine.start(await adapter.start(engine));
  return engine;
}

/** Interval of the sweep over idle jobs: it compacts changes past retention and drops feeds without subscribers. */
const SWEEP_MS = 60_000;
/** A job's recent changes use at most 1/16 of the cache. */
const RINGS_PER_CACHE = 16;

export class EngineJobStore extends LocalJobStore implements AdapterHost {
  readonly #adapter: StoreAdapter;
  readonly capabilities: StoreCapabilities;
  readonly #deps: EngineDeps;
  readonly #limits: Required<EngineOptions>;
  #generation = 0;
  readonly #jobs: JobCache;
  readonly #commits: Commits;
  protected readonly reads: JobReads;
  protected readonly writes: StoreWrites;
  readonly #leases: Leases;
  readonly #compaction: Compaction;
  readonly #quota: SubscriberQuota;
  #sweep: Timer | undefined;

  constructor(adapter: StoreAdapter, deps: EngineDeps, options: EngineOptions) {
    super(deps);
    this.#adapter = adapter;
    this.capabilities = adapter.capabilities;
    this.#deps = deps;
    this.#limits = checkMembers(options, 'the options', LIMITS);
    this.#quota = new SubscriberQuota(deps.metrics);
    this.#jobs = new JobCache({ ...deps, adapter }, this.#limits);
    const shared = { ...deps, adapter, jobs: this.#jobs };
    this.#commits = new Commits({
      ...shared,
      onApplied: (staged) => this.#leases.follow(staged),
      onPublished: (job) => this.#compaction.consider(job),
    });
    const parts = { ...shared, commits: this.#commits };
    this.#leases = createLeases(parts);
    const begin = (signal: AbortSignal | undefined) => this.begin(signal);
    this.reads = new JobReads({ ...parts, begin }, this.#limits.openSnapshotsMax);
    this.#compaction = createCompaction(parts, this.reads.slots, this.#limits.compactionKeysMax);
    this.writes = jobWrites(parts, this.#leases);
  }

  /** Call it before anything else. Without an argument, the store is empty. */
  start(found: Partial<StoreStart> = {}): void {
    const { jobsCount = 0, logRecords = 0, generation = 0, heldLeases = [] } = found;
    this.#generation = generation;
    this.#commits.start(jobsCount, logRecords);
    this.#leases.start(heldLeases);
    this.#planSweep();
  }

  protected override openSubscription(
    jobId: string,
    options: StoreSubscribeOptions,
  ): Promise<OpenedSubscription> {
    return this.reads.ofJob(checkJobId(jobId), undefined, async (job) => {
      this.#jobs.checkRoomToFollow(job);
      return this.#feedOf(job).open(options, job.row.numTasks);
    });
  }

  override status() {
    return {
      jobs: this.#commits.jobsCount,
      loadedJobs: this.#jobs.loaded.size,
      cacheBytes: this.#jobs.bytes,
      writeQueue: this.#commits.quota.count,
      writeQueueBytes: this.#commits.quota.bytes,
      subscribers: this.#quota.count,
      openSnapshots: this.reads.slots.taken.size,
      logRecords: this.#commits.logRecords,
      ...this.#adapter.status?.(),
    };
  }

  /** Completes calls in flight, ends subscriptions, and waits for reads in progress. */
  protected override async end(): Promise<void> {
    this.#sweep?.cancel();
    const committed = this.#commits.close();
    await Promise.all([this.#compaction.stop(), this.#leases.close()]);
    await committed;
    for (const { feed } of this.#jobs.feeds.values()) feed.close();
    await this.reads.slots.free(); // reads in progress are allowed to finish
    await this.#adapter.close();
  }

  wake(jobId: string, revision?: number): void {
    const job = this.#jobs.loaded.get(jobId);
    if (!job || !this.#jobs.isFollowed(jobId) || this.isClosed) return;
    this.#commits.catchUp(job, revision).catch((thrown: unknown) => {
      const { code } = SynclineError.from(thrown);
      this.#deps.logger.debug('changes of a job could not be read', { jobId, error: code });
    });
  }

  followed(): ReturnType<AdapterHost['followed']> {
    return [...this.#jobs.feeds]
      .filter(([jobId]) => this.#jobs.isFollowed(jobId))
      .map(([jobId, { incarnation, revision }]) => ({ jobId, incarnation, revision }));
  }

  markStale(stale: Readonly<{ sinceMs: number; attempt: number }>): void {
    for (const { feed } of this.#jobs.feeds.values()) feed.markStale(stale);
  }

  async markLive(): Promise<void> {
    const jobs = this.followed().flatMap(({ jobId }) => this.#jobs.loaded.get(jobId) ?? []);
    await Promise.all(jobs.map((job) => this.#commits.catchUp(job)));
    for (const { feed } of this.#jobs.feeds.values()) feed.markLive();
  }

  #feedOf({ row: { jobId, incarnation }, head: { revision } }: JobMirror): JobFeed {
    const known = this.#jobs.feeds.get(jobId);
    if (known) return known.feed;
    const { memoryRevisionsMax: changesMax, cacheBytesMax } = this.#limits;
    const generation = this.#generation === 0 ? '' : `-${this.#generation}`;
    const seen = { incarnation, revision };
    const source: JobFeedSource = {
      revision: () => seen.revision,
      view: (filter, signal) => this.reads.view({ jobId, incarnation }, filter, signal, true),
    };
    const feed = new JobFeed(
      { ...this.#deps, quota: this.#quota, source },
      {
        jobId,
        base: `${incarnation}${generation}`,
        history: this.capabilities.history,
        ring: { changesMax, bytesMax: Math.floor(cacheBytesMax / RINGS_PER_CACHE) },
      },
    );
    this.#jobs.feeds.set(jobId, Object.assign(seen, { feed }));
    return feed;
  }

  /** Feeds are dropped here, not at once: a subscriber that reconnects finds the newest changes still in memory. */
  #planSweep(): void {
    const sweep = () => {
      for (const jobId of this.#jobs.feeds.keys())
        if (!this.#jobs.isFollowed(jobId)) this.#jobs.endFeed(jobId, 'unused');
      for (const job of this.#jobs.loaded.values()) {
        this.#compaction.consider(job, 1); // first: `changed` may evict a job that has nothing to do
        this.#jobs.changed(job);
      }
      this.#planSweep();
    };
    this.#sweep = this.#deps.clock.setTimer(SWEEP_MS, sweep, { unref: true });
  }
}
