// The jobs in memory, within `cacheBytesMax`. The least recently used are evicted first.
//
// A job is evicted only when no call or commit has it pinned. If it has subscribers, its feed stays in memory and the
// job is reloaded into the same object when needed again. In a shared store it is not evicted, since the changes of
// other processes must be followed. Concurrent calls share one load, and a job is never in memory twice: commits would
// reach only one of the copies.
import { assert } from '@syncline/kernel';
import type { JobsMetrics } from '../metrics-list.js';
import type { JobMirror } from './job-mirror.js';
import type { EngineDeps, JobRows, Since, StoreAdapter } from './store-adapter.js';

export interface JobCacheDeps {
  readonly metrics: JobsMetrics;
  load(jobId: string): Promise<JobRows | undefined>;
  create(rows: JobRows): JobMirror;
  /** Whether a job with subscribers can be evicted: everything can be read again, and no other process writes. */
  readonly canUnload: boolean;
}

/** Dependencies shared by all parts of an engine. */
export interface EngineParts extends EngineDeps {
  readonly adapter: StoreAdapter;
  readonly jobs: JobCache;
}

/** A job that a call needs; undefined if it did not exist. */
export interface PinnedJob {
  readonly job: JobMirror | undefined;
  /** The value of `creations` at the lookup. If it has grown since, a job that did not exist may exist now. */
  readonly creations: number;
}

export class JobCache {
  readonly #deps: JobCacheDeps;
  readonly #bytesMax: number;
  /** Least recently used first. */
  readonly #jobs = new Map<string, JobMirror>();
  /** Evicted jobs that have subscribers. */
  readonly #unloaded = new Map<string, JobMirror>();
  readonly #loading = new Map<string, Promise<JobMirror | undefined>>();
  /** Jobs created while they were being loaded. */
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

  /** Over the limit although everything that can be evicted has been. */
  get isOverfull(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  values(): IterableIterator<JobMirror> {
    return this.#jobs.values();
  }

  unloaded(): IterableIterator<JobMirror> {
    return this.#unloaded.values();
  }

  peek(jobId: string): JobMirror | undefined {
    return this.#jobs.get(jobId);
  }

  /** Like `peek`, but makes the job the most recently used. */
  touch(jobId: string): JobMirror | undefined {
    const job = this.#jobs.get(jobId);
    if (!job) return undefined;
    this.#jobs.delete(jobId);
    this.#jobs.set(jobId, job);
    return job;
  }

  /** Pins the job if it is in memory. The caller must unpin it. */
  pinNow(jobId: string): PinnedJob | undefined {
    const job = this.touch(jobId);
    if (!job) return undefined;
    job.pins += 1;
    return { job, creations: this.#creations };
  }

  async pin(jobId: string): Promise<PinnedJob> {
    for (;;) {
      const creations = this.#creations;
      const job = this.touch(jobId) ?? (await this.#loadOnce(jobId));
      if (!job) return { job, creations };
      if (this.#jobs.get(jobId) !== job) continue; // evicted before it could be pinned
      job.pins += 1;
      return { job, creations };
    }
  }

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

  /** Applies what other processes have committed to a shared store, and passes it to subscribers. */
  follow(jobId: string, since: Since): void {
    const job = this.#jobs.get(jobId);
    if (job && since.kind === 'changes') {
      job.follow(since);
      this.changed(job);
      if (since.changes.length > 0) job.feed?.publishStored(since.changes);
    }
    if (since.kind === 'changes') return;
    const { rows } = since;
    if (job && rows?.row.incarnation === job.row.incarnation) {
      job.reload(rows);
      this.changed(job);
      job.feed?.skipAhead(); // not a reset: cursors stay valid
      return;
    }
    if (job) {
      job.isDeleted = true;
      this.remove(job);
      job.feed?.endDeleted();
    }
    if (rows) this.add(this.#deps.create(rows));
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
        const rows = await this.#deps.load(jobId);
        const created = this.#jobs.get(jobId); // during the load
        if (created) return created;
        if (this.#outdated.has(jobId)) continue; // created and evicted during the load: the rows may be inconsistent
        if (!rows) return undefined;
        const job = this.#reloaded(rows) ?? this.#deps.create(rows);
        this.#keep(job);
        return job;
      }
    } finally {
      this.#loading.delete(jobId);
      this.#outdated.delete(jobId);
    }
  }

  /** Drops an unloaded job that has no more subscribers. */
  forget(job: JobMirror): void {
    job.feed?.close();
    this.#unloaded.delete(job.row.jobId);
  }

  #reloaded(rows: JobRows): JobMirror | undefined {
    const job = this.#unloaded.get(rows.row.jobId);
    if (!job) return undefined;
    this.#unloaded.delete(rows.row.jobId);
    assert(
      job.row.incarnation === rows.row.incarnation,
      'J1: a job is in memory while it is deleted',
    );
    job.reload(rows);
    return job;
  }

  /** Never evicts the most recently used job, whatever its size. */
  #evict(): void {
    let left = this.#jobs.size;
    for (const job of this.#jobs.values()) {
      left -= 1;
      if (this.#bytes <= this.#bytesMax || left === 0) return;
      if (job.pins > 0 || job.isCompacting) continue;
      const { isFollowed } = job;
      if (isFollowed && !this.#deps.canUnload) continue;
      this.remove(job);
      if (!isFollowed) {
        job.feed?.close();
        continue;
      }
      job.unload();
      this.#unloaded.set(job.row.jobId, job);
    }
  }
}
