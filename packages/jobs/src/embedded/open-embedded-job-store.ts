// Opens the job store that lives in a Storage of this process: what the server runs.
import {
  type Clock,
  type Logger,
  type Random,
  type Storage,
  type StorageHealth,
  SynclineError,
} from '@syncline/kernel';
import type { JobStore } from '../job-store.js';
import type { JobsMetrics } from '../metrics-list.js';

export interface EmbeddedJobStoreDeps {
  /** It belongs to the job store alone while that is open, and stays open when that is closed. */
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
}

export interface EmbeddedJobStoreOptions {
  /** What is held in memory of jobs. Default `cacheBytesMax`. Less costs reads, when jobs come back. */
  readonly cacheBytesMax?: number;
  /** Changes of a job that are kept although later ones replaced them. Default `retentionRevisionsMax`. */
  readonly retentionRevisionsMax?: number;
  /** How long they are kept. Default `retentionMs`. */
  readonly retentionMs?: number;
  /** How many bytes of them are kept. Default `retentionBytesMax`. */
  readonly retentionBytesMax?: number;
  /** Keys that one batch of a compaction or of a deletion looks at. Default `compactionKeysMax`. */
  readonly compactionKeysMax?: number;
  /** Changes of a job that are also kept in memory, for readers who are little behind. Default `memoryRevisionsMax`. */
  readonly memoryRevisionsMax?: number;
  /** Views of the storage that are open at once; others wait. Default `openSnapshotsMax`. */
  readonly openSnapshotsMax?: number;
}

/** What the store is doing, for status pages. */
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

export type EmbeddedJobStore = JobStore & { status(): EmbeddedJobStoreStatus };

export async function openEmbeddedJobStore(
  deps: EmbeddedJobStoreDeps,
  options: EmbeddedJobStoreOptions = {},
): Promise<EmbeddedJobStore> {
  await deps.storage.whenReadable();
  throw new SynclineError('unavailable', `not there yet: ${Object.keys(options).length}`);
}
