// What runs behind the port of the embedded store: the queue of commits, jobs in memory, leases, feeds, and
// the work that goes on by itself. Everything that follows a commit happens here, in one order:
// memory, leases, answers, events.
import {
  abortedError,
  assert,
  type Clock,
  type Logger,
  type Random,
  type Storage,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import { LeaseWatch, type WatchedLease } from '../leases/lease-watch.js';
import type { JobsMetrics } from '../metrics-list.js';
import { StoreReports } from '../store-reports.js';
import { JobFeed } from '../subscription/job-feed.js';
import { SubscriberQuota } from '../subscription/subscriber-quota.js';
import { CommitQueue } from './commit-queue.js';
import { Compaction } from './compaction.js';
import { Deletions } from './deletions.js';
import type { EmbeddedSettings } from './embedded-settings.js';
import type { EmbeddedJobStoreStatus } from './embedded-status.js';
import { JobCache } from './job-cache.js';
import { loadJob } from './job-loader.js';
import { JobNotLoaded } from './job-not-loaded.js';
import { JobReads } from './job-reads.js';
import { JobWrites } from './job-writes.js';
import type { LoadedJob } from './loaded-job.js';
import { LostLeases } from './lost-leases.js';
import { PendingCall } from './pending-call.js';
import type { DamagedJob, StagedBatch } from './staged-batch.js';
import type { StagedJob } from './staged-job.js';
import type { StartFacts } from './start-facts.js';
import { StoreLedger } from './store-ledger.js';

export interface EmbeddedJobStoreDeps {
  /** It belongs to the job store alone while that is open, and stays open when that is closed. */
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
}

export interface CommitOptions {
  /** What it takes in the queue, about. */
  readonly bytes?: number;
  readonly signal?: AbortSignal | undefined;
}

/** A job at rest is looked at this often: its changes grow older than retention too, and its readers leave. */
const SWEEP_MS = 60_000;
const CALL_BYTES = 512;

export class EmbeddedEngine {
  readonly jobs: JobCache;
  readonly reads: JobReads;
  readonly writes: JobWrites;
  readonly leases: LeaseWatch;
  readonly lostLeases: LostLeases;
  readonly #deps: EmbeddedJobStoreDeps;
  readonly #settings: EmbeddedSettings;
  readonly #ledger: StoreLedger;
  readonly #queue: CommitQueue;
  readonly #compaction: Compaction;
  readonly #deletions: Deletions;
  readonly #quota: SubscriberQuota;
  #sweep: Timer | undefined;
  #isClosed = false;

  constructor(deps: EmbeddedJobStoreDeps, settings: EmbeddedSettings, start: StartFacts) {
    const { storage, clock, logger, metrics } = deps;
    this.#deps = deps;
    this.#settings = settings;
    this.#ledger = new StoreLedger(start);
    const ledger = this.#ledger;
    const load = async (jobId: string) => {
      const job = await loadJob(storage, jobId, settings.retention);
      return job && ledger.isCommitted(job.jobNo) ? job : undefined;
    };
    this.jobs = new JobCache({ metrics, load }, settings.cacheBytesMax);
    const { jobs } = this;
    this.#queue = new CommitQueue({
      storage,
      clock,
      metrics,
      apply: (batch) => this.#apply(batch),
      publish: (batch) => this.#publish(batch),
    });
    const queue = this.#queue;
    const readsDeps = { storage, clock, metrics, queue, jobs, ledger };
    this.reads = new JobReads(readsDeps, settings.openSnapshotsMax);
    this.writes = new JobWrites({ storage, clock, jobs, ledger }, settings.retention);
    this.#compaction = new Compaction(
      {
        storage,
        clock,
        logger,
        queue,
        hasBufferedWrites: () => ledger.hasBufferedMark,
        isCurrent: (job) => jobs.peek(job.row.jobId) === job,
      },
      settings.compactionKeysMax,
    );
    this.#deletions = new Deletions({ storage, clock, logger, queue }, settings.compactionKeysMax);
    this.#quota = new SubscriberQuota(metrics);
    this.leases = new LeaseWatch({
      clock,
      hasUnfinished: (lease) => this.#mayHaveWork(lease),
      onOverdue: (lease) => this.lostLeases.add(lease),
    });
    const { leases, writes } = this;
    this.lostLeases = new LostLeases({
      logger,
      reports: new StoreReports(deps),
      queue,
      jobs,
      writes,
      isOverdue: (incarnation, taskId) => leases.isOverdue(incarnation, taskId),
    });
    for (const jobNo of start.deletedJobNos) this.#deletions.add(jobNo);
    for (const { ttlMs, ...lease } of start.heldLeases) this.leases.watch(lease, ttlMs);
    this.#planSweep();
    this.#report();
  }

  /** Decides when its batch is formed, answers when that is stored. Throws why it is refused. */
  async commit<T>(
    jobId: string,
    decide: (batch: StagedBatch) => T,
    options: CommitOptions = {},
  ): Promise<T> {
    for (;;) {
      const job = this.jobs.pinNow(jobId) ?? (await this.#pinLoaded(jobId, options));
      try {
        return await this.commitUnloaded(decide, options);
      } catch (thrown) {
        if (!(thrown instanceof JobNotLoaded)) throw thrown;
      } finally {
        if (job) job.pins -= 1;
      }
    }
  }

  /** Calls that wait for a job to be loaded are held in memory as those that wait for the disk are. */
  #pinLoaded(jobId: string, { bytes = CALL_BYTES }: CommitOptions): Promise<LoadedJob | undefined> {
    return this.#queue.arriveAfter(bytes, () => this.jobs.pin(jobId));
  }

  /** As `commit`, and its job need not be in memory. */
  commitUnloaded<T>(
    decide: (batch: StagedBatch) => T,
    { bytes = CALL_BYTES, signal }: CommitOptions,
  ): Promise<T> {
    this.#checkOpen(signal);
    return new Promise<T>((resolve, reject) => {
      this.#queue.push(new PendingCall({ bytes, signal, decide, resolve, reject }));
    });
  }

  feedOf(job: LoadedJob): JobFeed {
    const { clock, metrics } = this.#deps;
    job.feed ??= new JobFeed(
      {
        clock,
        metrics,
        quota: this.#quota,
        source: {
          revision: () => job.head.revision,
          view: (filter, signal) => this.reads.view(job, filter, signal),
        },
      },
      {
        base: this.#ledger.cursorBase(job.row.incarnation),
        ringChangesMax: this.#settings.memoryRevisionsMax,
        ringBytesMax: this.#settings.ringBytesMax,
      },
    );
    return job.feed;
  }

  status(): EmbeddedJobStoreStatus {
    return {
      storage: this.#deps.storage.health(),
      jobs: this.#ledger.jobsCount,
      loadedJobs: this.jobs.count,
      cacheBytes: this.jobs.bytes,
      writeQueue: this.#queue.length,
      writeQueueBytes: this.#queue.bytes,
      subscribers: this.#quota.count,
      openSnapshots: this.reads.openSnapshotsCount,
      logRecords: this.#ledger.logRecords,
      deletions: this.#deletions.pendingCount,
    };
  }

  /** Answers what is in flight, ends the subscriptions, secures buffered writes, and waits for reads under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#sweep?.cancel();
    this.leases.close();
    await Promise.all([this.#compaction.stop(), this.#deletions.stop(), this.lostLeases.stop()]);
    await this.#queue.idle();
    for (const job of this.jobs.values()) job.feed?.close();
    if (this.#ledger.hasBufferedMark) await this.#secureBuffered();
    await this.reads.whenDone();
  }

  /** Again behind each wait: what was asked for may have become pointless. */
  #checkOpen(signal: AbortSignal | undefined): void {
    if (this.#isClosed) throw new SynclineError('closed', 'the job store is closed');
    if (signal?.aborted) throw abortedError('a call to the job store', signal);
  }

  /** Without it the next start takes some of them for lost, as after a crash. */
  async #secureBuffered(): Promise<void> {
    const { storage, logger } = this.#deps;
    try {
      await storage.secure();
      await new Promise<void>((resolve, reject) => {
        this.#queue.pushInternal({
          bytes: 0,
          prepare: (batch) => this.#ledger.clearBuffered(batch),
          done: resolve,
          failed: reject,
        });
      });
    } catch (thrown) {
      const { code } = SynclineError.from(thrown, 'storage-failed');
      logger.warn('🟡 cursors of jobs will reset at the next start', { error: code });
    }
  }

  #apply(batch: StagedBatch): void {
    this.#ledger.apply(batch);
    for (const staged of batch.jobs) {
      const isCurrent = staged.isNew || this.jobs.peek(staged.row.jobId) === staged.job;
      assert(isCurrent, 'J1: a job stays in memory while a batch holds it');
      staged.apply();
      this.#followLeases(staged);
      if (staged.isDeleted) this.#forget(staged.job);
      else if (staged.isNew) this.jobs.add(staged.job);
      else this.jobs.changed(staged.job);
    }
    for (const damaged of batch.damagedJobs) this.#forgetDamaged(damaged);
    this.#report();
  }

  #followLeases({ job, tasks, writers, isRowChanged }: StagedJob): void {
    const { jobId, incarnation } = job.row;
    for (const { taskId, epoch, state, ttlMs } of tasks.values()) {
      if (state === 'held') this.leases.watch({ jobId, incarnation, taskId, epoch }, ttlMs);
      else this.leases.forget(incarnation, taskId);
    }
    for (const taskId of writers) this.leases.extend(incarnation, taskId);
    if (isRowChanged) this.leases.recheck(incarnation);
  }

  #forget(job: LoadedJob): void {
    this.leases.forgetJob(job.row.incarnation);
    this.jobs.remove(job);
    this.#deletions.add(job.jobNo);
  }

  #forgetDamaged({ jobId, stored }: DamagedJob): void {
    if (stored) {
      this.leases.forgetJob(stored.row.incarnation);
      this.#deletions.add(stored.jobNo);
      return;
    }
    this.#deps.logger.warn('🟡 rows of a deleted job stay: its number could not be read', {
      jobId,
    });
  }

  #publish(batch: StagedBatch): void {
    for (const { job, changes, isDeleted } of batch.jobs) {
      if (changes.length > 0) job.feed?.publish(changes);
      if (isDeleted) job.feed?.endDeleted();
      else this.#compaction.consider(job);
    }
  }

  /** A job that is not in memory is brought there to find out. */
  #mayHaveWork({ jobId, taskId }: WatchedLease): boolean {
    return this.jobs.peek(jobId)?.aggregates.hasUnfinished(taskId) ?? true;
  }

  #planSweep(): void {
    const sweep = () => {
      for (const job of this.jobs.values()) {
        this.#compaction.consider(job, 1);
        this.#dropIdleFeed(job);
      }
      this.#planSweep();
    };
    this.#sweep = this.#deps.clock.setTimer(SWEEP_MS, sweep, { unref: true });
  }

  /** Some time after the last subscriber: one that only lost its connection finds the newest changes in memory. */
  #dropIdleFeed(job: LoadedJob): void {
    if (job.feed?.subscribersCount !== 0) return;
    job.feed.close();
    job.feed = undefined;
    this.jobs.changed(job);
  }

  #report(): void {
    const { metrics } = this.#deps;
    metrics.set('syncline_jobs_jobs', this.#ledger.jobsCount);
    metrics.set('syncline_jobs_log_records', this.#ledger.logRecords);
  }
}
