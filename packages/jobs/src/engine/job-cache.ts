// The jobs in memory, within `cacheBytesMax`, and the feeds of those with subscribers. The least recently used jobs are
// evicted first, but none whose id is held by a call or a commit. An id can be held before its job exists: a job
// created in the meantime then stays in memory. A job is never in memory twice: commits would reach one copy.
//
// In a shared store a job with subscribers is not evicted, since the changes of other processes must be followed: only
// the changes kept for slow readers are dropped.
import { assert } from '@syncline/kernel';
import { limitExceeded } from '../checks/values.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { StoredChange } from './changes.js';
import type { JobFeed } from './job-feed.js';
import { JobMirror, type RetentionLimits } from './job-mirror.js';
import type { JobRows, Since, StoreAdapter } from './store-adapter.js';

type Deps = Readonly<{ adapter: StoreAdapter; metrics: JobsMetrics }>;
export type JobCacheLimits = RetentionLimits & Readonly<{ cacheBytesMax: number }>;

/** A feed and the last revision of its job, which need not be in memory. */
export interface FollowedJob {
  readonly feed: JobFeed;
  readonly incarnation: string;
  revision: number;
}

export class JobCache {
  readonly #deps: Deps;
  readonly #limits: JobCacheLimits;
  /** Least recently used first. */
  readonly #jobs = new Map<string, JobMirror>();
  readonly loaded: ReadonlyMap<string, JobMirror> = this.#jobs;
  readonly feeds = new Map<string, FollowedJob>();
  /** Loads that concurrent calls share. One whose job is created meanwhile is removed: its rows may be inconsistent. */
  readonly loading = new Map<string, Promise<void>>();
  readonly #holders = new Map<string, number>();
  bytes = 0;

  constructor(deps: Deps, limits: JobCacheLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** Over the limit although everything that can be evicted has been. */
  get isOverfull(): boolean {
    return this.bytes > this.#limits.cacheBytesMax;
  }

  /** Returns the job if it is in memory, and makes it the most recently used. */
  touch(jobId: string): JobMirror | undefined {
    const job = this.#jobs.get(jobId);
    if (!job) return undefined;
    this.#jobs.delete(jobId);
    this.#jobs.set(jobId, job);
    return job;
  }

  hold(jobId: string): void {
    this.#holders.set(jobId, (this.#holders.get(jobId) ?? 0) + 1);
  }

  /** Every `hold` must be followed by exactly one `release`. */
  release(jobId: string): void {
    const holders = (this.#holders.get(jobId) ?? 0) - 1;
    if (holders > 0) {
      this.#holders.set(jobId, holders);
      return;
    }
    this.#holders.delete(jobId);
    if (this.isOverfull) this.#evict();
  }

  /** Loads the job if necessary; undefined if it does not exist. The caller must hold the id. */
  async load(jobId: string): Promise<JobMirror | undefined> {
    const job = this.touch(jobId);
    if (job) return job;
    await (this.loading.get(jobId) ?? this.#load(jobId));
    return this.touch(jobId);
  }

  create(rows: JobRows): JobMirror {
    return new JobMirror(rows, this.#limits);
  }

  add(job: JobMirror): void {
    const { jobId } = job.row;
    assert(!this.#jobs.has(jobId), 'J1: a job is in memory once');
    this.loading.delete(jobId);
    this.#jobs.set(jobId, job);
    this.changed(job);
  }

  remove(job: JobMirror): void {
    if (this.#jobs.get(job.row.jobId) !== job) return;
    this.#jobs.delete(job.row.jobId);
    this.bytes -= job.countedBytes;
    job.countedBytes = 0;
  }

  /** Call it after each commit: jobs grow. */
  changed(job: JobMirror): void {
    if (this.#jobs.get(job.row.jobId) !== job) return;
    this.#count(job);
    if (this.isOverfull) this.#evict();
    this.#deps.metrics.set('syncline_jobs_cache_bytes', this.bytes);
  }

  #count(job: JobMirror): void {
    const bytes = job.bytes + (this.feeds.get(job.row.jobId)?.feed.ringBytes ?? 0);
    this.bytes += bytes - job.countedBytes;
    job.countedBytes = bytes;
  }

  isFollowed(jobId: string): boolean {
    return (this.feeds.get(jobId)?.feed.subscribersCount ?? 0) > 0;
  }

  /** In a shared store, followed jobs stay in memory. The first may exceed the limit, further ones may not. */
  checkRoomToFollow({ row: { jobId }, bytes: ownBytes }: JobMirror): void {
    if (!this.#deps.adapter.shared || this.isFollowed(jobId)) return;
    let bytes = 0;
    for (const other of this.feeds.keys())
      if (this.isFollowed(other)) bytes += this.#jobs.get(other)?.countedBytes ?? 0;
    if (bytes > 0 && bytes + ownBytes > this.#limits.cacheBytesMax)
      throw limitExceeded(
        'cacheBytesMax',
        'jobs with subscribers fill the cache. End some subscriptions, or use another process.',
      );
  }

  publish({ row: { jobId }, head, isDeleted }: JobMirror, changes: readonly StoredChange[]): void {
    const followed = this.feeds.get(jobId);
    if (!followed) return;
    // A read may have loaded the job from a shared store, changes included, before its own commit was answered.
    const fresh = changes.filter(({ revision }) => revision > followed.revision);
    followed.revision = Math.max(followed.revision, head.revision);
    if (fresh.length > 0) followed.feed.publishStored(fresh);
    if (isDeleted) this.endFeed(jobId, 'deleted');
  }

  /** Applies what other processes have committed to a shared store, and passes it to subscribers. */
  follow(jobId: string, since: Since): void {
    const job = this.#jobs.get(jobId);
    const followed = this.feeds.get(jobId);
    if (since.kind === 'changes') {
      job?.follow(since);
      if (job) this.changed(job);
      if (job) this.publish(job, since.changes);
      return;
    }
    const { rows } = since;
    if (job && rows?.row.incarnation === job.row.incarnation) {
      job.reload(rows);
      this.changed(job);
      if (!followed) return;
      followed.revision = job.head.revision;
      followed.feed.skipAhead(); // not a reset: cursors stay valid
      return;
    }
    if (job) {
      job.isDeleted = true;
      this.remove(job);
      this.publish(job, []);
    }
    if (rows) this.add(this.create(rows));
  }

  endFeed(jobId: string, how: 'deleted' | 'unused'): void {
    const feed = this.feeds.get(jobId)?.feed;
    if (how === 'deleted') feed?.endDeleted();
    else feed?.close();
    this.feeds.delete(jobId);
  }

  #load(jobId: string): Promise<void> {
    const isCurrent = () => this.loading.get(jobId) === loading;
    const loading = this.#deps.adapter
      .loadJob(jobId)
      .then((rows) => {
        if (rows && isCurrent()) this.add(this.create(rows));
      })
      .finally(() => isCurrent() && this.loading.delete(jobId));
    this.loading.set(jobId, loading);
    return loading;
  }

  /** Never evicts the most recently used job, whatever its size. */
  #evict(): void {
    let left = this.#jobs.size;
    for (const [jobId, job] of this.#jobs) {
      left -= 1;
      if (!this.isOverfull || left === 0) return;
      const isFollowed = this.isFollowed(jobId);
      if (isFollowed) {
        this.feeds.get(jobId)?.feed.clearRing();
        this.#count(job);
      }
      const isHeld = this.#holders.has(jobId) || (isFollowed && this.#deps.adapter.shared);
      if (isHeld || job.isCompacting) continue;
      this.remove(job);
      if (!isFollowed) this.endFeed(jobId, 'unused');
    }
  }
}
