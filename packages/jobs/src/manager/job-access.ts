// What the parts of a manager or reader share: the job, the way to its store, and the ports.
import type { Clock, Logger, Random } from '@syncline/kernel';
import type { JobInfo } from '../job.js';
import type { JobStore } from '../job-store.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { StateReader } from '../payload/state-reader.js';
import type { JobLife } from './job-life.js';
import type { StoreCalls } from './store-calls.js';

export interface JobAccess {
  readonly store: JobStore;
  /** As it was when it was opened. */
  readonly job: JobInfo;
  readonly calls: StoreCalls;
  readonly states: StateReader;
  readonly life: JobLife;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: JobsMetrics;
  /** Set if the store has the same observer: it counts all but the failures that it never hears of. */
  readonly sharedObserver?: JobsMetrics | undefined;
  /** Adds the job, and the task of a manager, to each line. */
  readonly logger: Logger;
}
