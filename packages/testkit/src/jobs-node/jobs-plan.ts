// The store, clients and readers for a seed. There are few jobs, tasks and tags, so that clients conflict; and some
// runs have tight limits, so that the log is compacted constantly and jobs are evicted from memory.
import type { EmbeddedJobStoreOptions } from '@syncline/jobs';
import type { SeededRandom } from '@syncline/kernel/testing';

export const JOB_IDS = ['a', 'b'] as const;
export const TAGS = ['load', 'parse', 'store'] as const;
export const EXPECTED_TAG = 'load';

export interface JobsPlan {
  readonly store: EmbeddedJobStoreOptions;
  readonly clientsCount: number;
  readonly readersCount: number;
  /** The number of tasks that a creator of the job asks for. */
  readonly numTasks: number;
  /** Fraction of the writes that are only buffered. */
  readonly bufferedPart: number;
  readonly betweenMsMax: number;
  readonly runMs: number;
  /** Average time from a start to a clean stop of the store; infinite in runs without clean stops. */
  readonly stopAfterMs: number;
  readonly ttlMs: number;
  /** Fraction of a client's sessions that mark or delete the job. */
  readonly deletePart: number;
  /** How long a call over the link may take before it is given up; infinite: the manager itself gives up. */
  readonly linkTimeoutMs: number;
}

export function pick<T>(random: SeededRandom, choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random.float() * choices.length)] ?? choices[0];
}

export function planJobs(random: SeededRandom): JobsPlan {
  return {
    store: {
      retentionRevisionsMax: pick(random, [3, 12, 100_000]),
      compactionKeysMax: pick(random, [1, 4, 1_000]),
      memoryRevisionsMax: pick(random, [2, 10_000]),
      cacheBytesMax: pick(random, [1, 1_000_000]),
      openSnapshotsMax: pick(random, [1, 64]),
    },
    clientsCount: pick(random, [2, 3, 4]),
    readersCount: pick(random, [1, 2, 3]),
    numTasks: pick(random, [2, 3]),
    bufferedPart: pick(random, [0, 0, 0.4, 0.95]),
    betweenMsMax: pick(random, [5, 20, 100]),
    runMs: 2_000 + 4_000 * random.float(),
    stopAfterMs: pick(random, [Number.POSITIVE_INFINITY, 3_000, 1_000]),
    ttlMs: pick(random, [1_000, 1_500, 2_500]),
    deletePart: pick(random, [0, 0.1, 0.4]),
    linkTimeoutMs: pick(random, [100, 300, Number.POSITIVE_INFINITY]),
  };
}
