// Counts what waits for a commit, of all jobs of a store together, and refuses one too many.
import { SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';

export class WriteQueueQuota {
  readonly #metrics: JobsMetrics;
  #count = 0;
  #bytes = 0;

  constructor(metrics: JobsMetrics) {
    this.#metrics = metrics;
  }

  take(bytes: number): void {
    const { writeQueueMax, writeQueueBytesMax } = jobsLimits;
    const isCountFull = this.#count >= writeQueueMax.value;
    if (isCountFull || this.#bytes + bytes > writeQueueBytesMax.value) {
      throw new SynclineError(
        'overloaded',
        `${this.#count} writes of ${this.#bytes} bytes wait for Firestore already. Try again later, or write less often: a job takes tens of commits per second.`,
        { details: { limit: isCountFull ? 'writeQueueMax' : 'writeQueueBytesMax' } },
      );
    }
    this.#move(1, bytes);
  }

  giveBack(bytes: number): void {
    this.#move(-1, -bytes);
  }

  #move(count: number, bytes: number): void {
    this.#count += count;
    this.#bytes += bytes;
    this.#metrics.set('syncline_jobs_write_queue', this.#count);
  }
}
