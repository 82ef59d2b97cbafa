// The engine: one for every store. Writes are decided in job-writes.ts and committed in commits.ts; reads are answered
// here and in job-reads.ts; storing is left to the adapter.
//
// Input was checked before. States go in and out encoded (see stored-change.ts), so that a server need not take them
// apart.
import {
  abortedError,
  type Clock,
  type Logger,
  type Random,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import type { CheckedJobQuery } from '../checks/job-input.js';
import { checkTaskId } from '../checks/numbers.js';
import { checkScope } from '../checks/task-input.js';
import { checkJobId } from '../checks/text.js';
import { noSuchJob } from '../core/refusals.js';
import { jobInfoOf } from '../core/views.js';
import type { JobInfo, JobList } from '../job.js';
import type { JobSubscription, StoreSubscribeOptions } from '../job-event.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { Scope } from '../state.js';
import { Commits } from './commits.js';
import { Compaction } from './compaction.js';
import type { EncodedEvent } from './feed-event.js';
import { JobCache } from './job-cache.js';
import { JobFeed, SubscriberQuota } from './job-feed.js';
import { JobMirror } from './job-mirror.js';
import { type EncodedPage, type JobProgress, JobReads } from './job-reads.js';
import { JobWrites } from './job-writes.js';
import { Leases } from './leases.js';
import type { RetentionOptions } from './retention-marks.js';
import type { AdapterHost, StoreAdapter, StoreStart } from './store-adapter.js';
import { storeSubscription } from './store-subscription.js';

export interface EngineDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
}

export interface EngineOptions {
  /** Memory for jobs. Default `cacheBytesMax`. Less costs reads when jobs come back. */
  readonly cacheBytesMax?: number;
  /** Changes of a job that are kept although later ones replaced them. Default `retentionRevisionsMax`. */
  readonly retentionRevisionsMax?: number;
  /** How long they are kept. Default `retentionMs`. */
  readonly retentionMs?: number;
  /** How many bytes of them are kept. Default `retentionBytesMax`. */
  readonly retentionBytesMax?: number;
  /** Changes that one step of a compaction looks at. Default `compactionKeysMax`. */
  readonly compactionKeysMax?: number;
  /** Changes of a job that are also kept in memory, for readers that are little behind. Default `memoryRevisionsMax`. */
  readonly memoryRevisionsMax?: number;
  /** Views of the store that are open at once; others wait. Default `openSnapshotsMax`. */
  readonly openSnapshotsMax?: number;
}

type Signal = AbortSignal | undefined;

/** A job at rest is looked at this often: its changes grow older than retention too, and its readers leave. */
const SWEEP_MS = 60_000;
/** One job's recent changes take at most this part of the cache. */
const RINGS_PER_CACHE = 16;

export class JobEngine {
  readonly adapter: StoreAdapter;
  readonly #deps: EngineDeps;
  readonly #retention: RetentionOptions;
  readonly #ring: { readonly changesMax: number; readonly bytesMax: number };
  readonly #generation: number;
  readonly #jobs: JobCache;
  readonly #commits: Commits;
  readonly #reads: JobReads;
  readonly writes: JobWrites;
  readonly #leases: Leases;
  readonly #compaction: Compaction;
  readonly #quota: SubscriberQuota;
  #sweep: Timer | undefined;
  #closing: Promise<void> | undefined;

  constructor(adapter: StoreAdapter, deps: EngineDeps, options: EngineOptions, start: StoreStart) {
    const { metrics } = deps;
    const cacheBytesMax = options.cacheBytesMax ?? jobsLimits.cacheBytesMax.value;
    this.adapter = adapter;
    this.#deps = deps;
    this.#retention = {
      revisionsMax: options.retentionRevisionsMax ?? jobsLimits.retentionRevisionsMax.value,
      ageMs: options.retentionMs ?? jobsLimits.retentionMs.value,
      bytesMax: options.retentionBytesMax ?? jobsLimits.retentionBytesMax.value,
    };
    this.#ring = {
      changesMax: options.memoryRevisionsMax ?? jobsLimits.memoryRevisionsMax.value,
      bytesMax: Math.floor(cacheBytesMax / RINGS_PER_CACHE),
    };
    this.#generation = start.generation;
    this.#quota = new SubscriberQuota(metrics);
    const load = (jobId: string) => this.#load(jobId);
    this.#jobs = new JobCache({ metrics, load }, cacheBytesMax);
    const shared = { ...deps, adapter, jobs: this.#jobs, commits: () => this.#commits };
    this.#leases = new Leases(shared, start);
    this.#compaction = new Compaction(
      shared,
      options.compactionKeysMax ?? jobsLimits.compactionKeysMax.value,
    );
    this.#commits = new Commits(
      {
        ...shared,
        onApplied: (staged) => this.#leases.follow(staged),
        onPublished: ({ job, isDeleted }) => {
          if (!isDeleted) this.#compaction.consider(job);
        },
      },
      this.#retention,
      start,
    );
    this.#reads = new JobReads(
      { ...shared, commits: this.#commits },
      options.openSnapshotsMax ?? jobsLimits.openSnapshotsMax.value,
    );
    this.writes = new JobWrites(
      { ...shared, commits: this.#commits, leases: this.#leases },
      this.#retention,
    );
    this.#planSweep();
  }

  /** What the adapter may ask for. */
  get host(): AdapterHost {
    return {
      wake: (jobId) => void this.#wake(jobId),
      followed: () =>
        [...this.#jobs.values()]
          .filter(({ feed }) => (feed?.subscribersCount ?? 0) > 0)
          .map(({ row: { jobId, incarnation }, head: { revision } }) => {
            return { jobId, incarnation, revision };
          }),
      markStale: (stale) => {
        for (const { feed } of this.#jobs.values()) feed?.markStale(stale);
      },
      markLive: () => {
        for (const { feed } of this.#jobs.values()) feed?.markLive();
      },
    };
  }

  async getJob(jobId: string, signal: Signal): Promise<JobInfo | undefined> {
    return this.#read(jobId, signal, async (job) => job && jobInfoOf(job.row, job.head));
  }

  listJobs(query: CheckedJobQuery): Promise<JobList> {
    return this.#reads.list(query);
  }

  listStates(
    jobId: string,
    scope: Scope,
    {
      afterRevision,
      limit,
      signal,
    }: Readonly<{ afterRevision: number; limit: number; signal: Signal }>,
  ): Promise<EncodedPage> {
    return this.#readKnown(jobId, signal, (job) => {
      const checked = checkScope(scope, job.row.numTasks);
      return this.#reads.page(job, checked, { afterRevision, limit, signal });
    });
  }

  getState(
    jobId: string,
    { taskId, tag, signal }: Readonly<{ taskId: number; tag: string; signal: Signal }>,
  ): Promise<Uint8Array | undefined> {
    return this.#readKnown(jobId, signal, (job) =>
      this.#reads.state(job, checkTaskId(taskId, job.row.numTasks), tag),
    );
  }

  /** Job, progress and lost leases of one moment. */
  progress(jobId: string, scope: Scope, signal: Signal): Promise<JobProgress> {
    return this.#readKnown(jobId, signal, (job) =>
      this.#reads.progress(job, checkScope(scope, job.row.numTasks)),
    );
  }

  subscribe<E>(
    jobId: string,
    options: StoreSubscribeOptions,
    convert: (event: EncodedEvent) => E,
  ): JobSubscription<E> {
    const open = () =>
      this.#readKnown(checkJobId(jobId), undefined, async (job) => {
        const scope = checkScope(options.scope, job.row.numTasks);
        return this.#feedOf(job).subscribe({ ...options, scope });
      });
    return storeSubscription(open, options, convert);
  }

  status() {
    return {
      jobs: this.#commits.jobsCount,
      loadedJobs: this.#jobs.count,
      cacheBytes: this.#jobs.bytes,
      writeQueue: this.#commits.waitingCount,
      writeQueueBytes: this.#commits.waitingBytes,
      subscribers: this.#quota.count,
      openSnapshots: this.#reads.openSnapshotsCount,
      logRecords: this.#commits.logRecords,
      ...this.adapter.status?.(),
    };
  }

  /** Throws `closed` or `aborted`. */
  begin(signal: Signal): void {
    if (this.#closing) throw new SynclineError('closed', 'the job store is closed');
    if (signal?.aborted) throw abortedError('the call to the job store', signal);
  }

  /** Answers what is in flight, ends the subscriptions, and waits for reads in progress. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#sweep?.cancel();
    this.#commits.close();
    await Promise.all([this.#compaction.stop(), this.#leases.close()]);
    await this.#commits.idle();
    for (const job of this.#jobs.values()) job.feed?.close();
    await this.#reads.whenDone();
    await this.adapter.close();
  }

  async #load(jobId: string): Promise<JobMirror | undefined> {
    for (;;) {
      await this.adapter.whenReadable?.();
      try {
        const rows = await this.adapter.loadJob(jobId);
        return rows && new JobMirror(rows, this.#retention);
      } catch (thrown) {
        // A store that is being opened again is waited for.
        const canWait = this.adapter.whenReadable !== undefined;
        if (!canWait || !(thrown instanceof SynclineError) || thrown.code !== 'unavailable')
          throw thrown;
      }
    }
  }

  async #read<T>(
    jobId: string,
    signal: Signal,
    read: (job: JobMirror | undefined) => Promise<T>,
  ): Promise<T> {
    this.begin(signal);
    const { shared } = this.adapter;
    const isLoaded = this.#jobs.peek(jobId) !== undefined;
    const { job } = await this.#jobs.pinToRead(jobId);
    try {
      this.begin(signal);
      if (job && shared && isLoaded) this.#commits.follow(job, await shared.changesAfter(job));
      return await read(job?.isDeleted ? undefined : job);
    } finally {
      if (job) job.pins -= 1;
    }
  }

  #readKnown<T>(jobId: string, signal: Signal, read: (job: JobMirror) => Promise<T>): Promise<T> {
    return this.#read(jobId, signal, (job) => {
      if (!job) throw noSuchJob(jobId);
      return read(job);
    });
  }

  async #wake(jobId: string): Promise<void> {
    const { shared } = this.adapter;
    const job = this.#jobs.peek(jobId);
    if (!shared || !job || this.#closing) return;
    job.pins += 1;
    try {
      this.#commits.follow(job, await shared.changesAfter(job));
    } catch (thrown) {
      const { code } = SynclineError.from(thrown);
      this.#deps.logger.debug('changes of a job could not be read', { jobId, error: code });
    } finally {
      job.pins -= 1;
    }
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
          view: (filter, signal) => this.#reads.view(job, filter, signal),
        },
      },
      {
        jobId,
        base: `${incarnation}${generation}`,
        history: this.adapter.capabilities.history,
        ringChangesMax: this.#ring.changesMax,
        ringBytesMax: this.#ring.bytesMax,
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
      this.#planSweep();
    };
    this.#sweep = this.#deps.clock.setTimer(SWEEP_MS, sweep, { unref: true });
  }

  /** Some time after the last subscriber: one that only lost its connection finds the newest changes in memory. */
  #dropIdleFeed(job: JobMirror): void {
    if (job.feed?.subscribersCount !== 0) return;
    job.feed.close();
    job.feed = undefined;
    this.#jobs.changed(job);
  }
}
