// Limits the writes that wait: in a store for their commit, in a manager for an unreachable store. Without a limit they
// would exhaust memory.
import { SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';

export class WriteQuota {
  readonly #metrics: JobsMetrics;
  count = 0;
  bytes = 0;

  constructor(metrics: JobsMetrics) {
    this.#metrics = metrics;
  }

  check(bytes: number): void {
    const { writeQueueMax, writeQueueBytesMax } = jobsLimits;
    if (this.count >= writeQueueMax.value) throw overloaded('writeQueueMax');
    if (this.count > 0 && this.bytes + bytes > writeQueueBytesMax.value)
      throw overloaded('writeQueueBytesMax');
  }

  add(count: 1 | -1, bytes: number): void {
    this.count += count;
    this.bytes += count * bytes;
    this.#metrics.set('syncline_jobs_write_queue', this.count);
  }
}

function overloaded(limit: 'writeQueueMax' | 'writeQueueBytesMax'): SynclineError {
  const { value } = jobsLimits[limit];
  const what = limit === 'writeQueueMax' ? 'writes' : 'bytes of writes';
  return new SynclineError(
    'overloaded',
    `${value} ${what} are waiting to be committed. Wait for earlier writes to finish.`,
    { details: { limit } },
  );
}
