// What one may set of the embedded store, and what it is otherwise.
import { jobsLimits } from '../limits.js';
import type { RetentionOptions } from './retention-marks.js';

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

export interface EmbeddedSettings {
  readonly cacheBytesMax: number;
  readonly retention: RetentionOptions;
  readonly compactionKeysMax: number;
  readonly memoryRevisionsMax: number;
  /** One job's changes in memory take at most this part of the cache. */
  readonly ringBytesMax: number;
  readonly openSnapshotsMax: number;
}

const RINGS_PER_CACHE = 16;

export function embeddedSettings(options: EmbeddedJobStoreOptions): EmbeddedSettings {
  const cacheBytesMax = options.cacheBytesMax ?? jobsLimits.cacheBytesMax.value;
  return {
    cacheBytesMax,
    retention: {
      revisionsMax: options.retentionRevisionsMax ?? jobsLimits.retentionRevisionsMax.value,
      ageMs: options.retentionMs ?? jobsLimits.retentionMs.value,
      bytesMax: options.retentionBytesMax ?? jobsLimits.retentionBytesMax.value,
    },
    compactionKeysMax: options.compactionKeysMax ?? jobsLimits.compactionKeysMax.value,
    memoryRevisionsMax: options.memoryRevisionsMax ?? jobsLimits.memoryRevisionsMax.value,
    ringBytesMax: Math.floor(cacheBytesMax / RINGS_PER_CACHE),
    openSnapshotsMax: options.openSnapshotsMax ?? jobsLimits.openSnapshotsMax.value,
  };
}
