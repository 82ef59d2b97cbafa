// The jobs in memory, within `cacheBytesMax`: the least recently used leave first.
//
// A job leaves only when it is not in use: no call and no commit holds a pin, and it has no subscribers. Jobs with
// subscribers stay even above the limit. A job is loaded once, however many calls ask for it, and is never in memory
// twice: commits would reach only one of the copies.
import { assert } from '@syncline/kernel';
import type { JobsMetrics } from '../metrics-list.js';
import type { JobMirror } from './job-mirror.js';

export interface JobCacheDeps {
  readonly metrics: JobsMetrics;
  load(jobId: string): Promise<JobMirror | undefined>;
}

/** A job that a call needs, or the knowledge that there was none. */
export interface PinnedJob {
  readonly job: JobMirror | undefined;
  /** Jobs that had been created when it was looked up: one that was absent may exist since. */
  readonly creations: number;
}

export class JobCache {
  readonly #deps: JobCacheDeps;
  readonly #bytesMax: number;
  /** Least recently used first. */
  readonly #jobs = new Map<string, JobMirror>();
  readonly #loading = new Map<string, Promise<JobMirror | undefined>>();
  /** Jobs that were created while they were being loaded. */
  readonly #outdated = new Set<string>();
  #bytes = 0;
  #creations = 0;

  constructor(deps: JobCacheDeps, bytesMax: number) {
    this.#deps = deps;
    this.#bytesMax = bytesMax;
  }

  get count(): number {
    return this.#jobs.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get creations(): number {
    return this.#creations;
  }

  /** Everything that nobody needs has left, and it is still too much. */
  get isOverfull(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  values(): IterableIterator<JobMirror> {
    return this.#jobs.values();
  }

  /** Undefined if it is not in memory. */
  peek(jobId: string): JobMirror | undefined {
    return this.#jobs.get(jobId);
  }

  /** As `peek`; it becomes the most recently used. */
  touch(jobId: string): JobMirror | undefined {
    const job = this.#jobs.get(jobId);
    if (!job) return undefined;
    this.#jobs.delete(jobId);
    this.#jobs.set(jobId, job);
    return job;
  }

  /** With a pin that the caller gives back, if it is in memory. */
  pinNow(jobId: string): PinnedJob | undefined {
    const job = this.touch(jobId);
    if (!job) return undefined;
    job.pins += 1;
    return { job, creations: this.#creations };
  }

  /** Loads it if need be. */
  async pin(jobId: string): Promise<PinnedJob> {
    for (;;) {
      const creations = this.#creations;
      const job = this.touch(jobId) ?? (await this.#loadOnce(jobId));
      if (!job) return { job, creations };
      if (this.#jobs.get(jobId) !== job) continue; // it left before it could be pinned
      job.pins += 1;
      return { job, creations };
    }
  }

  /** As `pin`, and counts whether memory had it. */
  pinToRead(jobId: string): Promise<PinnedJob> {
    const isHit = this.#jobs.has(jobId);
    const name = isHit ? 'syncline_jobs_cache_hits_total' : 'syncline_jobs_cache_misses_total';
    this.#deps.metrics.add(name);
    return this.pin(jobId);
  }

  /** One that was created. */
  add(job: JobMirror): void {
    const { jobId } = job.row;
    assert(!this.#jobs.has(jobId), 'J1: a job is in memory once');
    this.#creations += 1;
    if (this.#loading.has(jobId)) this.#outdated.add(jobId);
    this.#keep(job);
  }

  remove(job: JobMirror): void {
    if (this.#jobs.get(job.row.jobId) !== job) return;
    this.#jobs.delete(job.row.jobId);
    this.#bytes -= job.countedBytes;
    job.countedBytes = 0;
  }

  /** Call it after each commit: jobs grow. */
  changed(job: JobMirror): void {
    if (this.#jobs.get(job.row.jobId) !== job) return;
    const { bytes } = job;
    this.#bytes += bytes - job.countedBytes;
    job.countedBytes = bytes;
    if (this.#bytes > this.#bytesMax) this.#evict();
    this.#deps.metrics.set('syncline_jobs_cache_bytes', this.#bytes);
  }

  #loadOnce(jobId: string): Promise<JobMirror | undefined> {
    const loading = this.#loading.get(jobId) ?? this.#load(jobId);
    this.#loading.set(jobId, loading);
    return loading;
  }

  #keep(job: JobMirror): void {
    this.#jobs.set(job.row.jobId, job);
    this.changed(job);
  }

  async #load(jobId: string): Promise<JobMirror | undefined> {
    try {
      for (;;) {
        this.#outdated.delete(jobId);
        const job = await this.#deps.load(jobId);
        const created = this.#jobs.get(jobId); // meanwhile
        if (created) return created;
        if (this.#outdated.has(jobId)) continue; // it came and went: its rows were read at several moments
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

function isNeeded(job: JobMirror): boolean {
  return job.pins > 0 || job.isCompacting || (job.feed?.subscribersCount ?? 0) > 0;
}
