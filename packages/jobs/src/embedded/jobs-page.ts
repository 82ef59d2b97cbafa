// A page of the list of jobs, while it is read. A job that cannot be read takes a place too, with its name alone.
import type { JobList, JobSummary } from '../job.js';

export class JobsPage {
  readonly #limit: number;
  readonly #jobs: JobSummary[] = [];
  readonly #damaged: string[] = [];
  #last = '';
  #hasMore = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** There is one that has no place: whatever is added from now on is left out. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  add(summary: JobSummary): void {
    if (this.#takePlace(summary.job.jobId)) this.#jobs.push(summary);
  }

  addDamaged(jobId: string): void {
    if (this.#takePlace(jobId)) this.#damaged.push(jobId);
  }

  result(): JobList {
    return {
      jobs: this.#jobs,
      ...(this.#damaged.length > 0 && { damaged: this.#damaged }),
      ...(this.#hasMore && { next: this.#last }),
    };
  }

  #takePlace(jobId: string): boolean {
    this.#hasMore ||= this.#jobs.length + this.#damaged.length === this.#limit;
    if (!this.#hasMore) this.#last = jobId;
    return !this.#hasMore;
  }
}
