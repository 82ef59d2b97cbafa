// Limits the writes that wait, in a store for their commit and in a manager for an unreachable store.
import { overloaded } from '../checks/values.js';
import { limitValues } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';

const WAITING = 'are waiting to be committed. Wait for earlier writes to finish.';

export class WriteQuota {
  readonly #metrics: JobsMetrics;
  count = 0;
  bytes = 0;

  constructor(metrics: JobsMetrics) {
    this.#metrics = metrics;
  }

  check(bytes: number): void {
    const { writeQueueMax, writeQueueBytesMax } = limitValues;
    if (this.count >= writeQueueMax) throw overloaded('writeQueueMax', `writes ${WAITING}`);
    if (this.count > 0 && this.bytes + bytes > writeQueueBytesMax)
      throw overloaded('writeQueueBytesMax', `bytes of writes ${WAITING}`);
  }

  add(count: 1 | -1, bytes: number): void {
    this.count += count;
    this.bytes += count * bytes;
    this.#metrics.set('syncline_jobs_write_queue', this.count);
  }
}
