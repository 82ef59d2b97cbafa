// Counts the subscribers of a store, all of its jobs together, and refuses one too many.
import { SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';

export class SubscriberQuota {
  readonly #metrics: JobsMetrics;
  readonly #subscribersMax: number;
  #count = 0;

  constructor(metrics: JobsMetrics, subscribersMax: number = jobsLimits.subscribersMax.value) {
    this.#metrics = metrics;
    this.#subscribersMax = subscribersMax;
  }

  get count(): number {
    return this.#count;
  }

  /** Each `take` is given back once. */
  take(): void {
    if (this.#count >= this.#subscribersMax) {
      throw new SynclineError(
        'limit-exceeded',
        `the store has ${this.#subscribersMax} subscribers, which is its limit. End one, or use another store.`,
        { details: { limit: 'subscribersMax' } },
      );
    }
    this.#move(1);
  }

  giveBack(): void {
    this.#move(-1);
  }

  #move(by: 1 | -1): void {
    this.#count += by;
    this.#metrics.set('syncline_jobs_subscribers', this.#count);
  }
}
