// One commit while it is being formed: the jobs that it changes, each as an overlay over what is committed.
//
// It pins each of its jobs until it has ended: a caller may have given up by then, and a job that left memory meanwhile
// would come back as it was before the commit.
import type { Durability } from '@syncline/kernel';
import type { JobCache } from './job-cache.js';
import { type JobMirror, StagedJob } from './job-mirror.js';
import type { Commit, CommitRows } from './store-adapter.js';

/** Thrown when a job left memory before its place in a commit came. The call loads it and tries again. */
export class JobNotLoaded extends Error {
  override readonly name = 'JobNotLoaded';
}

export class CommitBatch {
  /** In the order in which they were touched: a job that is deleted and created again is there twice. */
  readonly jobs: StagedJob[] = [];
  readonly rows: CommitRows;
  readonly #cache: JobCache;
  readonly #byJobId = new Map<string, StagedJob>();
  #durability: Durability = 'buffered';

  constructor(rows: CommitRows, cache: JobCache) {
    this.rows = rows;
    this.#cache = cache;
  }

  get jobsCount(): number {
    let count = this.rows.jobsCount;
    for (const { kind, isDeleted } of this.jobs)
      count += Number(kind === 'create') - Number(isDeleted);
    return count;
  }

  /** The commit becomes as durable as the most careful write in it asks. */
  requireSynced(): void {
    this.#durability = 'synced';
  }

  find(jobId: string): StagedJob | undefined {
    return this.#byJobId.get(jobId);
  }

  /** Undefined: there is no such job. `creations`: what the caller knew when it looked the job up. */
  stage(jobId: string, creations: number): StagedJob | undefined {
    const staged = this.find(jobId);
    if (staged) return staged.isDeleted ? undefined : staged;
    const job = this.#cache.peek(jobId);
    if (job) return this.add(job);
    if (this.#cache.creations !== creations) throw new JobNotLoaded();
    return undefined;
  }

  add(job: JobMirror, kind: 'create' | 'change' = 'change'): StagedJob {
    const staged = new StagedJob(job, kind);
    job.pins += 1;
    this.jobs.push(staged);
    this.#byJobId.set(job.row.jobId, staged);
    return staged;
  }

  /** Undefined if there is nothing to store. */
  toCommit(): Commit | undefined {
    const jobs = this.jobs
      .filter(({ hasChanged }) => hasChanged)
      .map((staged) => staged.toCommit());
    return jobs.length === 0 ? undefined : { jobs, durability: this.#durability };
  }

  /** It is stored, or it has failed: its jobs may leave memory. */
  end(): void {
    for (const { job } of this.jobs) job.pins -= 1;
  }
}
