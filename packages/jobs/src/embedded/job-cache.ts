// The jobs in memory, within `cacheBytesMax`: those not used for longest leave.
//
// A job leaves only when nobody needs it: no call and no batch holds a pin, and nobody subscribes. A job that is
// asked for is loaded once, however many ask. There is never a second one of it: commits would reach only one.
import { assert } from '@syncline/kernel';
import type { JobsMetrics } from '../metrics-list.js';
import type { LoadedJob } from './loaded-job.js';

export interface JobCacheDeps {
  readonly metrics: JobsMetrics;
  /** As it is committed: one whose creation is in flight is not there. */
  load(jobId: string): Promise<LoadedJob | undefined>;
}

export class JobCache {
  readonly #deps: JobCacheDeps;
  readonly #bytesMax: number;
  /** Least recently used first. */
  readonly #jobs = new Map<string, LoadedJob>();
  readonly #loading = new Map<string, Promise<LoadedJob | undefined>>();
  /** Jobs that were created while they were being loaded. */
  readonly #outdated = new Set<string>();
  #bytes = 0;

  constructor(deps: JobCacheDeps, bytesMax: number) {
    this.#deps = deps;
    this.#bytesMax = bytesMax;
  }

  get count(): number {
    return this.#jobs.size;
  }

  /** Of all of them, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /** All that nobody needs has left, and it is still too much. */
  get isOverfull(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  values(): IterableIterator<LoadedJob> {
    return this.#jobs.values();
  }

  /** Undefined if it is not in memory. */
  peek(jobId: string): LoadedJob | undefined {
    return this.#jobs.get(jobId);
  }

  /** If it is in memory, it becomes the most recent one. */
  touch(jobId: string): LoadedJob | undefined {
    const job = this.#jobs.get(jobId);
    if (!job) return undefined;
    this.#jobs.delete(jobId);
    this.#jobs.set(jobId, job);
    return job;
  }

  /** With a pin, if it is in memory: for callers in a hurry. */
  pinNow(jobId: string): LoadedJob | undefined {
    const job = this.touch(jobId);
    if (job) job.pins += 1;
    return job;
  }

  /** As `pin`, and counts whether memory had it. */
  pinToRead(jobId: string): Promise<LoadedJob | undefined> {
    const isHit = this.#jobs.has(jobId);
    const name = isHit ? 'syncline_jobs_cache_hits_total' : 'syncline_jobs_cache_misses_total';
    this.#deps.metrics.add(name);
    return this.pin(jobId);
  }

  /** The job, with a pin that the caller gives back. Undefined: there is no such job. */
  async pin(jobId: string): Promise<LoadedJob | undefined> {
    for (;;) {
      const job = this.touch(jobId) ?? (await this.#loadOnce(jobId));
      if (!job) return undefined;
      if (this.#jobs.get(jobId) !== job) continue; // it left again before we could say that we need it
      job.pins += 1;
      return job;
    }
  }

  #loadOnce(jobId: string): Promise<LoadedJob | undefined> {
    const loading = this.#loading.get(jobId) ?? this.#load(jobId);
    this.#loading.set(jobId, loading);
    return loading;
  }

  /** One that was created. */
  add(job: LoadedJob): void {
    const { jobId } = job.row;
    assert(!this.#jobs.has(jobId), 'J1: a job is in memory once');
    if (this.#loading.has(jobId)) this.#outdated.add(jobId);
    this.#keep(job);
  }

  remove(job: LoadedJob): void {
    if (this.#jobs.get(job.row.jobId) !== job) return;
    this.#jobs.delete(job.row.jobId);
    this.#bytes -= job.countedBytes;
    job.countedBytes = 0;
  }

  /** Call it after each commit: jobs grow. */
  changed(job: LoadedJob): void {
    if (this.#jobs.get(job.row.jobId) !== job) return;
    const { bytes } = job;
    this.#bytes += bytes - job.countedBytes;
    job.countedBytes = bytes;
    if (this.#bytes > this.#bytesMax) this.#evict();
    this.#deps.metrics.set('syncline_jobs_cache_bytes', this.#bytes);
  }

  #keep(job: LoadedJob): void {
    this.#jobs.set(job.row.jobId, job);
    this.changed(job);
  }

  async #load(jobId: string): Promise<LoadedJob | undefined> {
    try {
      for (;;) {
        this.#outdated.delete(jobId);
        const job = await this.#deps.load(jobId);
        const created = this.#jobs.get(jobId); // meanwhile
        if (created) return created;
        if (this.#outdated.has(jobId)) continue; // it came and went: its rows were read of several moments
        if (job) this.#keep(job);
        return job;
      }
    } finally {
      this.#loading.delete(jobId);
      this.#outdated.delete(jobId);
    }
  }

  /** The most recent one stays, whatever its size. */
  #evict(): void {
    let left = this.#jobs.size;
    for (const job of this.#jobs.values()) {
      left -= 1;
      if (this.#bytes <= this.#bytesMax || left === 0) return;
      if (isNeeded(job)) continue;
      job.feed?.close();
      this.remove(job);
    }
  }
}

function isNeeded(job: LoadedJob): boolean {
  return job.pins > 0 || job.isCompacting || (job.feed?.subscribersCount ?? 0) > 0;
}
