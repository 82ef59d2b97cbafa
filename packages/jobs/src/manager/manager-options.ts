// What a user may set of a manager or reader, and the checked settings that it runs on.
import { type Clock, type Logger, type Random, silentMetrics } from '@syncline/kernel';
import { checkInteger, checkSchemaVersion, checkTtlMs } from '../checks/numbers.js';
import { refuseUnless } from '../checks/refuse.js';
import { checkTag } from '../checks/text.js';
import type { Labels } from '../job.js';
import type { JobStore } from '../job-store.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { StatusNames } from '../payload/state-reader.js';
import type { TagSchemas } from '../payload/tag-schemas.js';
import type { CallPolicy } from './store-calls.js';

export type JobReaderTarget = Readonly<{ store: JobStore; jobId: string }>;

export type JobManagerTarget = JobReaderTarget &
  Readonly<{
    /** Which task this process is: 0 to numTasks − 1. */
    taskIndex: number;
    /** How many there are. What the job was created with counts, see `onNumTasksMismatch`. */
    numTasks: number;
  }>;

export type JobReaderOptions<Tags extends TagSchemas, Names extends StatusNames> = Readonly<{
  /** The streams of work, by name, with what their payloads look like. Default: any, without schemas. */
  tags?: Tags;
  /** Names for statuses of your own: `{ parsing: 20 }`. They stay in this process. */
  statuses?: Names;
  /** For a whole call with its retries, in ms. Default 30,000. */
  timeoutMs?: number;
  /**
   * How often a failed call is tried again, and the bounds of the waits between. Default 5, from 100 ms up to
   * 5,000 ms. An attempt without an answer is given up after its share of `timeoutMs`, 1,000 ms at least.
   */
  retry?: Partial<CallPolicy['retry']>;
  /** Takes the metrics. If the store has the same one, what both would count is counted by the store alone. */
  observer?: JobsMetrics;
  /** Default: nobody. */
  log?: Logger;
  /** Gives up opening. Later calls have their own. */
  signal?: AbortSignal;
}>;

export type JobManagerOptions<
  Tags extends TagSchemas,
  Names extends StatusNames,
> = JobReaderOptions<Tags, Names> &
  Readonly<{
    /** Of the job, if it is created now. */
    labels?: Labels;
    /**
     * How long the task may be silent before it counts as lost (1 s to 1 h, default 30,000 ms), and who renews
     * it: by default the manager, every third of that. `false`: it never counts as lost.
     */
    lease?: false | Readonly<{ ttlMs?: number; heartbeat?: 'auto' | 'manual' }>;
    /** If the job exists with another number of tasks: take that one (default), or refuse. */
    onNumTasksMismatch?: 'adopt' | 'fail';
  }>;

/** The system's unless given: tests give others. */
export interface JobManagerDeps {
  readonly clock: Clock;
  readonly random: Random;
}

const TTL_MS_DEFAULT = 30_000;
const TIMEOUT_MS_MAX = 3_600_000;
const RETRIES_MAX = 100;

export function checkCallPolicy(options: JobReaderOptions<TagSchemas, StatusNames>): CallPolicy {
  const { timeoutMs = 30_000, retry = {} } = options;
  const { attempts = 5, initialMs = 100, maxMs = 5_000 } = retry;
  const duration = { min: 1, max: TIMEOUT_MS_MAX };
  return {
    timeoutMs: checkInteger(timeoutMs, 'timeoutMs', duration),
    retry: {
      attempts: checkInteger(attempts, 'retry.attempts', { min: 0, max: RETRIES_MAX }),
      initialMs: checkInteger(initialMs, 'retry.initialMs', duration),
      maxMs: checkInteger(maxMs, 'retry.maxMs', duration),
    },
  };
}

export function checkTags(tags: TagSchemas = {}): TagSchemas {
  for (const [tag, { schemaVersion }] of Object.entries(tags)) {
    checkTag(tag, 'tags');
    if (schemaVersion !== undefined) checkSchemaVersion(schemaVersion);
  }
  return tags;
}

export function checkStatuses(statuses: StatusNames = {}): StatusNames {
  const int32 = { min: -2_147_483_648, max: 2_147_483_647 };
  for (const [name, status] of Object.entries(statuses)) {
    checkInteger(status, `statuses.${name}`, int32);
  }
  return statuses;
}

/** `ttlMs` 0: it never expires. */
export function checkLease(lease: JobManagerOptions<TagSchemas, StatusNames>['lease'] = {}): {
  readonly ttlMs: number;
  readonly isAutomatic: boolean;
} {
  if (lease === false) return { ttlMs: 0, isAutomatic: false };
  const { ttlMs = TTL_MS_DEFAULT, heartbeat = 'auto' } = lease;
  const wanted = 'a time from 1,000 to 3,600,000; `lease: false` is one that never expires';
  refuseUnless(ttlMs !== 0, 'ttlMs', { value: ttlMs, wanted });
  const isKnown = heartbeat === 'auto' || heartbeat === 'manual';
  refuseUnless(isKnown, 'heartbeat', { value: heartbeat, wanted: "'auto' or 'manual'" });
  return { ttlMs: checkTtlMs(ttlMs), isAutomatic: heartbeat === 'auto' };
}

/** What happens in the store is counted once, also where it has the same observer. */
export function metricsBeside(store: JobStore, observer: JobsMetrics = silentMetrics): JobsMetrics {
  return store.observer === observer ? silentMetrics : observer;
}
