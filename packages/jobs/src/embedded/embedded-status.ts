// What the embedded store is doing, for status pages.
import type { StorageHealth } from '@syncline/kernel';

export interface EmbeddedJobStoreStatus {
  readonly storage: StorageHealth;
  readonly jobs: number;
  readonly loadedJobs: number;
  readonly cacheBytes: number;
  readonly writeQueue: number;
  readonly writeQueueBytes: number;
  readonly subscribers: number;
  readonly openSnapshots: number;
  readonly logRecords: number;
  /** Jobs that are deleted and whose rows are still being removed. */
  readonly deletions: number;
}
