// What `createJobManager` takes, by name. Anything else is refused before the store is asked.
//
// J20  Nothing is created by a call that is refused.
import { checkKnownKeys, type KnownKeys } from '../checks/known-keys.js';
import type { StatusNames } from '../payload/state-reader.js';
import type { TagSchemas } from '../payload/tag-schemas.js';
import type { JobManagerOptions, JobManagerTarget } from './manager-options.js';

type Options = JobManagerOptions<TagSchemas, StatusNames>;
type Lease = Exclude<NonNullable<Options['lease']>, false>;
type Retry = NonNullable<Options['retry']>;

const TARGET: KnownKeys<JobManagerTarget> = {
  store: true,
  jobId: true,
  taskIndex: true,
  numTasks: true,
};
const OPTIONS: KnownKeys<Required<Options>> = {
  tags: true,
  statuses: true,
  timeoutMs: true,
  retry: true,
  observer: true,
  log: true,
  signal: true,
  labels: true,
  lease: true,
  onNumTasksMismatch: true,
};
const LEASE: KnownKeys<Required<Lease>> = { ttlMs: true, heartbeat: true };
const RETRY: KnownKeys<Required<Retry>> = { attempts: true, initialMs: true, maxMs: true };

export function checkKnownOptions(target: JobManagerTarget, options: Options): void {
  const { lease, retry } = options;
  checkKnownKeys(target, 'the first argument of createJobManager', TARGET);
  checkKnownKeys(options, 'the second argument of createJobManager', OPTIONS);
  if (typeof lease === 'object') checkKnownKeys(lease, 'lease', LEASE);
  if (retry !== undefined) checkKnownKeys(retry, 'retry', RETRY);
}
