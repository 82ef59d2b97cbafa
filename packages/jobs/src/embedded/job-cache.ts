// The jobs in memory, within `cacheBytesMax`: those not used for longest leave.
//
// A job leaves only when nobody needs it: no call holds a pin and nobody subscribes. A job that is asked for
// is loaded once, however many ask.
import type { JobsMetrics } from '../metrics-list.js';
import type { LoadedJob } from './loaded-job.js';

export interface JobCacheDeps {
  readonly metrics: JobsMetrics;
  load(jobId: string): Promise<LoadedJob | undefined>;
}

export class JobCache {
  readonly #deps: JobCacheDeps;
  readonly #bytesMax: number;
  /** Least recently used first. */
  readonly #jobs = new Map<string, LoadedJob>();
  readonly #loading = new Map<string, Promise<LoadedJob | undefined>>();
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
    this.#deps.metrics.add('syncline_jobs_cache_hits_total');
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

  add(job: LoadedJob): void {
    this.#jobs.set(job.row.jobId, job);
    this.changed(job);
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

  async #load(jobId: string): Promise<LoadedJob | undefined> {
    this.#deps.metrics.add('syncline_jobs_cache_misses_total');
    try {
      const job = await this.#deps.load(jobId);
      const created = this.#jobs.get(jobId); // meanwhile
      if (created) return created;
      if (job) this.add(job);
      return job;
    } finally {
      this.#loading.delete(jobId);
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
