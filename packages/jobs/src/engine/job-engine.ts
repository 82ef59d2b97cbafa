// The engine shared by all adapters. Writes are decided in job-writes.ts and committed in commits.ts, reads are served
// by job-reads.ts, and storage is left to the adapter.
//
// Input has already been checked. States are encoded (see changes.ts), so that a server need not decode them.
import {
  abortedError,
  createSystemClock,
  createSystemRandom,
  SynclineError,
  silentLogger,
  silentMetrics,
  type Timer,
} from '@syncline/kernel';
import { checkScope } from '../checks/input.js';
import { checkJobId } from '../checks/values.js';
import type { StoreCapabilities, StoreSubscribeOptions } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import { type LocalEngine, LocalJobStore } from './checked-job-store.js';
import { Commits } from './commits.js';
import { Compaction } from './compaction.js';
import { JobCache } from './job-cache.js';
import { JobFeed, type OpenedSubscription, SubscriberQuota } from './job-feed.js';
import type { RetentionOptions } from './job-mirror.js';
import { JobMirror } from './job-mirror.js';
import { JobReads } from './job-reads.js';
import { JobWrites } from './job-writes.js';
import { Leases } from './leases.js';
import type {
  AdapterHost,
  EngineDeps,
  JobRows,
  StoreAdapter,
  StoreStart,
} from './store-adapter.js';

/** Defaults to the system clock and randomness, and to no logging and no metrics. */
export function withSystemDeps(deps: Partial<EngineDeps>): EngineDeps {
  return {
    clock: deps.clock ?? createSystemClock(),
    random: deps.random ?? createSystemRandom(),
    logger: deps.logger ?? silentLogger,
    metrics: deps.metrics ?? silentMetrics,
  };
}

export interface EngineOptions {
  /** Memory for jobs. Default `cacheBytesMax`. With less, jobs are reloaded from the store more often. */
  readonly cacheBytesMax?: number;
  /** Changes of a job that are kept although they were replaced by later ones. Default `retentionRevisionsMax`. */
  readonly retentionRevisionsMax?: number;
  /** How long such changes are kept. Default `retentionMs`. */
  readonly retentionMs?: number;
  /** How many bytes of such changes are kept. Default `retentionBytesMax`. */
  readonly retentionBytesMax?: number;
  /** Changes that one compaction step examines. Default `compactionKeysMax`. */
  readonly compactionKeysMax?: number;
  /** Changes of a job also kept in memory, for readers that are slightly behind. Default `memoryRevisionsMax`. */
  readonly memoryRevisionsMax?: number;
  /** Views of the store that may be open at once; others wait. Default `openSnapshotsMax`. */
  readonly openSnapshotsMax?: number;
}

const DEFAULTS: Required<EngineOptions> = {
  cacheBytesMax: jobsLimits.cacheBytesMax.value,
  retentionRevisionsMax: jobsLimits.retentionRevisionsMax.value,
  retentionMs: jobsLimits.retentionMs.value,
  retentionBytesMax: jobsLimits.retentionBytesMax.value,
  compactionKeysMax: jobsLimits.compactionKeysMax.value,
  memoryRevisionsMax: jobsLimits.memoryRevisionsMax.value,
  openSnapshotsMax: jobsLimits.openSnapshotsMax.value,
};

export type EngineJobStore = LocalJobStore<JobEngine>;

/** Opens a job store on an adapter. Closing the store closes the adapter. */
export async function openJobStore(
  adapter: StoreAdapter,
  deps: EngineDeps,
  options: EngineOptions = {},
): Promise<EngineJobStore> {
  const opened: { engine?: JobEngine } = {};
  const start = await adapter.start({
    wake: (jobId, revision) => opened.engine?.wake(jobId, revision),
    followed: () => opened.engine?.followed() ?? [],
    markStale: (stale) => opened.engine?.markStale(stale),
    markLive: async () => opened.engine?.markLive(),
  });
  opened.engine = new JobEngine(adapter, deps, options, start);
  return new LocalJobStore(opened.engine, deps);
}

type Signal = AbortSignal | undefined;

/** Interval of the sweep over idle jobs: it compacts changes past retention and drops feeds without subscribers. */
const SWEEP_MS = 60_000;
/** A job's recent changes use at most 1/16 of the cache. */
const RINGS_PER_CACHE = 16;

export class JobEngine implements LocalEngine, AdapterHost {
  readonly adapter: StoreAdapter;
  readonly #deps: EngineDeps;
  readonly #retention: RetentionOptions;
  readonly #ring: { readonly changesMax: number; readonly bytesMax: number };
  readonly #generation: number;
  readonly #jobs: JobCache;
  readonly #commits: Commits;
  readonly reads: JobReads;
  readonly writes: JobWrites;
  readonly #leases: Leases;
  readonly #compaction: Compaction;
  readonly #quota: SubscriberQuota;
  #sweep: Timer | undefined;
  #closing: Promise<void> | undefined;

  constructor(adapter: StoreAdapter, deps: EngineDeps, options: EngineOptions, start: StoreStart) {
    const { metrics } = deps;
    const limits = { ...DEFAULTS, ...options };
    this.adapter = adapter;
    this.#deps = deps;
    this.#retention = {
      revisionsMax: limits.retentionRevisionsMax,
      ageMs: limits.retentionMs,
      bytesMax: limits.retentionBytesMax,
    };
    this.#ring = {
      changesMax: limits.memoryRevisionsMax,
      bytesMax: Math.floor(limits.cacheBytesMax / RINGS_PER_CACHE),
    };
    this.#generation = start.generation;
    this.#quota = new SubscriberQuota(metrics);
    const load = (jobId: string) => this.#load(jobId);
    const create = (rows: JobRows) => new JobMirror(rows, this.#retention);
    const canUnload = adapter.compacts && !adapter.shared;
    this.#jobs = new JobCache({ metrics, load, create, canUnload }, limits.cacheBytesMax);
    const shared = { ...deps, adapter, jobs: this.#jobs, commits: () => this.#commits };
    this.#leases = new Leases(shared, start);
    this.#compaction = new Compaction(shared, limits.compactionKeysMax);
    this.#commits = new Commits(
      {
        ...shared,
        onApplied: (staged) => this.#leases.follow(staged),
        onPublished: ({ job, isDeleted }) => {
          if (!isDeleted) this.#compaction.consider(job);
        },
      },
      start,
    );
    this.reads = new JobReads(
      { ...shared, commits: this.#commits, begin: (signal) => this.begin(signal) },
      limits.openSnapshotsMax,
    );
    this.writes = new JobWrites(
      { ...shared, commits: this.#commits, leases: this.#leases },
      this.#retention,
    );
    this.#planSweep();
  }

  get capabilities(): StoreCapabilities {
    return this.adapter.capabilities;
  }

  openSubscription(jobId: string, options: StoreSubscribeOptions): Promise<OpenedSubscription> {
    return this.reads.ofJob(checkJobId(jobId), undefined, async (job) => {
      const scope = checkScope(options.scope, job.row.numTasks);
      return this.#feedOf(job).open({ ...options, scope });
    });
  }

  status() {
    return {
      jobs: this.#commits.jobsCount,
      loadedJobs: this.#jobs.count,
      cacheBytes: this.#jobs.bytes,
      writeQueue: this.#commits.quota.count,
      writeQueueBytes: this.#commits.quota.bytes,
      subscribers: this.#quota.count,
      openSnapshots: this.reads.openSnapshotsCount,
      logRecords: this.#commits.logRecords,
      ...this.adapter.status?.(),
    };
  }

  begin(signal: Signal): void {
    if (this.#closing) throw new SynclineError('closed', 'the job store is closed');
    if (signal?.aborted) throw abortedError('the call to the job store', signal);
  }

  /** Completes calls in flight, ends subscriptions, and waits for reads in progress. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#sweep?.cancel();
    this.#commits.close();
    await Promise.all([this.#compaction.stop(), this.#leases.close()]);
    await this.#commits.idle();
    for (const job of [...this.#jobs.values(), ...this.#jobs.unloaded()]) job.feed?.close();
    await this.reads.whenDone();
    await this.adapter.close();
  }

  async #load(jobId: string): Promise<JobRows | undefined> {
    for (;;) {
      await this.adapter.whenReadable?.();
      try {
        return await this.adapter.loadJob(jobId);
      } catch (thrown) {
        // The store is being reopened: wait and try again.
        const canWait = this.adapter.whenReadable !== undefined;
        if (!canWait || !(thrown instanceof SynclineError) || thrown.code !== 'unavailable')
          throw thrown;
      }
    }
  }

  wake(jobId: string, revision?: number): void {
    const job = this.#jobs.peek(jobId);
    if (!job?.isFollowed || this.#closing) return;
    this.#commits.catchUp(job, revision).catch((thrown: unknown) => {
      const { code } = SynclineError.from(thrown);
      this.#deps.logger.debug('changes of a job could not be read', { jobId, error: code });
    });
  }

  followed(): ReturnType<AdapterHost['followed']> {
    return this.#followed().map(({ row: { jobId, incarnation }, head: { revision } }) => {
      return { jobId, incarnation, revision };
    });
  }

  markStale(stale: Readonly<{ sinceMs: number; attempt: number }>): void {
    for (const { feed } of this.#jobs.values()) feed?.markStale(stale);
  }

  async markLive(): Promise<void> {
    await Promise.all(this.#followed().map((job) => this.#commits.catchUp(job)));
    for (const { feed } of this.#jobs.values()) feed?.markLive();
  }

  #followed(): readonly JobMirror[] {
    return [...this.#jobs.values()].filter(({ isFollowed }) => isFollowed);
  }

  #feedOf(job: JobMirror): JobFeed {
    const { jobId, incarnation } = job.row;
    const generation = this.#generation === 0 ? '' : `-${this.#generation}`;
    job.feed ??= new JobFeed(
      {
        ...this.#deps,
        quota: this.#quota,
        source: {
          revision: () => job.head.revision,
          view: (filter, signal) => this.reads.view(job, filter, signal, true),
        },
      },
      {
        jobId,
        base: `${incarnation}${generation}`,
        history: this.adapter.capabilities.history,
        ring: this.#ring,
      },
    );
    return job.feed;
  }

  #planSweep(): void {
    const sweep = () => {
      for (const job of this.#jobs.values()) {
        this.#compaction.consider(job, 1);
        this.#dropIdleFeed(job);
      }
      for (const job of this.#jobs.unloaded())
        if (job.feed?.subscribersCount === 0) this.#jobs.forget(job);
      this.#planSweep();
    };
    this.#sweep = this.#deps.clock.setTimer(SWEEP_MS, sweep, { unref: true });
  }

  /** Called by the sweep, not at once: a subscriber that reconnects finds the newest changes still in memory. */
  #dropIdleFeed(job: JobMirror): void {
    if (job.feed?.subscribersCount !== 0) return;
    job.feed.close();
    job.feed = undefined;
    this.#jobs.changed(job);
  }
}
