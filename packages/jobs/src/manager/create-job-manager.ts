// Opens a job: `createJobManager` to work on one of its tasks, `createJobReader` to read it.
//
// J15  A job keeps the number of tasks it was created with; a caller with a different number adopts it or is refused.
// J20  Nothing is created for a task that the job could not have, and nothing by a reader.
import { hostname } from 'node:os';
import {
  type Clock,
  createSystemClock,
  createSystemRandom,
  type Logger,
  type Random,
  SynclineError,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { checkJobSpec } from '../checks/input.js';
import {
  checkInteger,
  checkJobId,
  checkKnownKeys,
  checkSchemaVersion,
  checkTag,
  checkTtlMs,
  type KnownKeys,
  refuseUnless,
} from '../checks/values.js';
import { noSuchJob } from '../core/refusals.js';
import type { JobInfo, Labels } from '../job.js';
import type { JobStore } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { JobManager, JobReader, NoStatusNames } from './job-manager.js';
import { OpenManager } from './open-manager.js';
import { OpenReader } from './open-reader.js';
import { type CallPolicy, JobLife, OpenCall, runCall } from './store-calls.js';
import { StateReader, type StatusNames, type TagSchemas } from './tag-schemas.js';
import { claimTask } from './task-claim.js';

/** Claims the task, which fences any process that held it before. Close the manager to release it. */
export async function createJobManager<
  const Tags extends TagSchemas = TagSchemas,
  const Names extends StatusNames = NoStatusNames,
>(
  target: JobManagerTarget,
  options: JobManagerOptions<Tags, Names> = {},
  deps: Partial<JobManagerDeps> = {},
): Promise<JobManager<Tags, Names>> {
  checkKnownKeys(target, 'the first argument of createJobManager', MANAGER_TARGET);
  checkKnownKeys<ManagerOptions>(
    options,
    'the second argument of createJobManager',
    MANAGER_OPTIONS,
  );
  const { jobId, taskIndex: taskId } = target;
  const parts = prepare(target, options, deps);
  const { tags, statuses } = parts;
  const lease = { ...checkLease(options.lease), taskId, holder: holderName() };
  const what = `opening task ${taskId} of job "${jobId}"`;
  using opening = new OpenCall(parts, { what, isWrite: true, signal: options.signal });
  const job = await openJob(opening, target, options);
  const logger = parts.logger.child({ jobId, taskId });
  logDifferences(logger, job, { target, tags });
  const named = { ...parts, logger, job };
  const life = new JobLife(`the manager of task ${taskId} of job "${jobId}"`, named);
  const access = { ...named, life };
  const claim = await claimTask(access, lease, opening);
  const manager = new OpenManager({ ...access, claim }, { taskId, tags, statuses });
  return manager as unknown as JobManager<Tags, Names>; // the schemas of the tags determine the types
}

/** Throws `not-found` if the job does not exist. */
export async function createJobReader<
  const Tags extends TagSchemas = TagSchemas,
  const Names extends StatusNames = NoStatusNames,
>(
  target: JobReaderTarget,
  options: JobReaderOptions<Tags, Names> = {},
  deps: Partial<JobManagerDeps> = {},
): Promise<JobReader<Tags>> {
  checkKnownKeys(target, 'the first argument of createJobReader', TARGET);
  checkKnownKeys<ReaderOptions>(options, 'the second argument of createJobReader', OPTIONS);
  const { store, jobId } = target;
  checkJobId(jobId);
  const parts = prepare(target, options, deps);
  const what = `the reader of job "${jobId}"`;
  const call = { what, isWrite: false, signal: options.signal };
  const job = await runCall(parts, call, (attempt) => store.getJob(jobId, attempt));
  if (job === undefined) throw noSuchJob(jobId);
  const named = { ...parts, job, logger: parts.logger.child({ jobId }) };
  const reader = new OpenReader({ ...named, life: new JobLife(what, named) });
  return reader as unknown as JobReader<Tags>; // the schemas of the tags determine the types
}

/** Everything that does not need the store. */
function prepare(
  { store }: JobReaderTarget,
  options: JobReaderOptions<TagSchemas, StatusNames>,
  deps: Partial<JobManagerDeps>,
) {
  refuseUnless(typeof store === 'object' && store !== null, 'store', {
    value: store,
    wanted: 'a job store, such as createRemoteJobStore(…)',
  });
  const { clock = createSystemClock(), random = createSystemRandom() } = deps;
  const { log: logger = silentLogger, observer = silentMetrics } = options;
  const tags = checkTags(options.tags);
  const statuses = checkStatuses(options.statuses);
  const policy = checkCallPolicy(options);
  // What happens in the store is counted once, even if it has the same observer.
  const metrics = store.observer === observer ? silentMetrics : observer;
  const states = new StateReader(tags, statuses);
  return { store, clock, random, logger, observer, metrics, tags, statuses, policy, states };
}

async function openJob(
  opening: OpenCall,
  { store, jobId, taskIndex, numTasks }: JobManagerTarget,
  options: JobManagerOptions<TagSchemas, StatusNames>,
): Promise<JobInfo> {
  const { onNumTasksMismatch = 'adopt', tags = {}, labels = {} } = options;
  const isKnown = onNumTasksMismatch === 'adopt' || onNumTasksMismatch === 'fail';
  refuseUnless(isKnown, 'onNumTasksMismatch', {
    value: onNumTasksMismatch,
    wanted: "'adopt' or 'fail'",
  });
  const spec = checkJobSpec({ jobId, numTasks, expectedTags: expectedTagsOf(tags), labels });
  checkTaskIndex(taskIndex, jobsLimits.tasksPerJobMax.value);
  const job = await opening.send(async (call) => {
    if (taskIndex < numTasks) return (await store.createJob(spec, call)).job;
    return store.getJob(jobId, call); // the job may have more tasks than the caller assumes
  });
  if (job === undefined) {
    checkTaskIndex(taskIndex, numTasks);
    throw noSuchJob(jobId);
  }
  if (job.numTasks !== numTasks && onNumTasksMismatch === 'fail')
    throw new SynclineError(
      'conflict',
      `job "${jobId}" has ${job.numTasks} tasks, not ${numTasks}. Start this process with ${job.numTasks}, or use another job id.`,
      { details: { reason: 'num-tasks', numTasks: job.numTasks, given: numTasks } },
    );
  const range = job.numTasks === 1 ? '0' : `0 to ${job.numTasks - 1}`;
  const wanted = `${range}, since job "${jobId}" has ${job.numTasks === 1 ? '1 task' : `${job.numTasks} tasks`}`;
  refuseUnless(taskIndex < job.numTasks, 'taskIndex', { value: taskIndex, wanted });
  return job;
}

/** Logs requested settings that have no effect because the job already existed. */
function logDifferences(
  logger: Logger,
  { numTasks, expectedTags }: JobInfo,
  { target, tags }: { readonly target: JobManagerTarget; readonly tags: TagSchemas },
): void {
  if (numTasks !== target.numTasks) {
    const fields = { numTasks, given: target.numTasks };
    logger.warn('🟡 the job has a different number of tasks; using that of the job', fields);
  }
  if (Object.keys(tags).length === 0) return; // no tags were declared
  const declared = new Set(expectedTagsOf(tags));
  const isSame =
    expectedTags.length === declared.size && expectedTags.every((tag) => declared.has(tag));
  if (isSame) return;
  logger.warn(
    '🟡 the job expects different tags than declared here; using those of the job until task 0 calls updateJob',
    { expectedTags, declared: [...declared] },
  );
}

function expectedTagsOf(tags: TagSchemas): readonly string[] {
  return Object.keys(tags).filter((tag) => tags[tag]?.expected !== false);
}

function checkTaskIndex(taskIndex: unknown, numTasks: number): void {
  checkInteger(taskIndex, 'taskIndex', { min: 0, max: numTasks - 1 });
}

/** Identifies this process to people who inspect leases. */
function holderName(): string {
  return `${hostname()}:${process.pid}`.slice(0, jobsLimits.holderLengthMax.value);
}

// The options of managers and readers, and their checks. Unknown names are refused: a misspelled option must not
// silently leave the default in place.
//
// J20  Nothing is created by a call that is refused.

export type JobReaderTarget = Readonly<{ store: JobStore; jobId: string }>;

export type JobManagerTarget = JobReaderTarget &
  Readonly<{
    /** The task of this process: 0 to numTasks − 1. */
    taskIndex: number;
    /** The number of tasks. If the job exists with a different number, see `onNumTasksMismatch`. */
    numTasks: number;
  }>;

export type JobReaderOptions<Tags extends TagSchemas, Names extends StatusNames> = Readonly<{
  /** The tags, by name, with the schemas of their payloads. Default: any tag, without a schema. */
  tags?: Tags;
  /** Names for custom statuses: `{ parsing: 20 }`. They are local to this process. */
  statuses?: Names;
  /**
   * How long a call may take, in ms, including waiting for earlier writes, all attempts and the pauses between them. A
   * shorter server outage goes unnoticed. Default 60,000.
   */
  timeoutMs?: number;
  /** Bounds of the random pause between two attempts, which doubles each time. Default 100 ms up to 5,000 ms. */
  retry?: Partial<CallPolicy['retry']>;
  /** Receives metrics. If the store has the same observer, nothing is counted twice. */
  observer?: JobsMetrics;
  /** Default: none. */
  log?: Logger;
  /** Aborts opening. Later calls take their own signal. */
  signal?: AbortSignal;
}>;

export type JobManagerOptions<
  Tags extends TagSchemas,
  Names extends StatusNames,
> = JobReaderOptions<Tags, Names> &
  Readonly<{
    /** The labels of the job, if this call creates it. */
    labels?: Labels;
    /**
     * How long the task may go without a renewal or write before it counts as lost (1 s to 1 h, default 30,000 ms), and
     * who renews the lease: by default the manager, every third of that time. `false`: it never counts as lost.
     */
    lease?: false | Readonly<{ ttlMs?: number; heartbeat?: 'auto' | 'manual' }>;
    /** If the job exists with another number of tasks: adopt that number (default), or fail. */
    onNumTasksMismatch?: 'adopt' | 'fail';
  }>;

/** Default to the system's; replaced in tests. */
export interface JobManagerDeps {
  readonly clock: Clock;
  readonly random: Random;
}

type ReaderOptions = JobReaderOptions<TagSchemas, StatusNames>;
type ManagerOptions = JobManagerOptions<TagSchemas, StatusNames>;
type Lease = Exclude<NonNullable<ManagerOptions['lease']>, false>;

const TTL_MS_DEFAULT = 30_000;
const TIMEOUT_MS_MAX = 3_600_000;
const TIMEOUT_MS_DEFAULT = 60_000;

const TARGET: KnownKeys<JobReaderTarget> = { store: true, jobId: true };
const MANAGER_TARGET: KnownKeys<JobManagerTarget> = { ...TARGET, taskIndex: true, numTasks: true };
const OPTIONS: KnownKeys<Required<ReaderOptions>> = {
  tags: true,
  statuses: true,
  timeoutMs: true,
  retry: true,
  observer: true,
  log: true,
  signal: true,
};
const MANAGER_OPTIONS: KnownKeys<Required<ManagerOptions>> = {
  ...OPTIONS,
  labels: true,
  lease: true,
  onNumTasksMismatch: true,
};
const LEASE: KnownKeys<Required<Lease>> = { ttlMs: true, heartbeat: true };
const RETRY: KnownKeys<CallPolicy['retry']> = { initialMs: true, maxMs: true };

function checkCallPolicy({
  timeoutMs = TIMEOUT_MS_DEFAULT,
  retry = {},
}: ReaderOptions): CallPolicy {
  checkKnownKeys(retry, 'retry', RETRY);
  const { initialMs = 100, maxMs = 5_000 } = retry;
  const duration = { min: 1, max: TIMEOUT_MS_MAX };
  return {
    timeoutMs: checkInteger(timeoutMs, 'timeoutMs', duration),
    retry: {
      initialMs: checkInteger(initialMs, 'retry.initialMs', duration),
      maxMs: checkInteger(maxMs, 'retry.maxMs', duration),
    },
  };
}

function checkTags(tags: TagSchemas = {}): TagSchemas {
  for (const [tag, { schemaVersion }] of Object.entries(tags)) {
    checkTag(tag, 'tags');
    if (schemaVersion !== undefined) checkSchemaVersion(schemaVersion);
  }
  return tags;
}

function checkStatuses(statuses: StatusNames = {}): StatusNames {
  const int32 = { min: -2_147_483_648, max: 2_147_483_647 };
  for (const [name, status] of Object.entries(statuses)) {
    checkInteger(status, `statuses.${name}`, int32);
  }
  return statuses;
}

/** A `ttlMs` of 0 never expires. */
function checkLease(lease: ManagerOptions['lease'] = {}): {
  readonly ttlMs: number;
  readonly isAutomatic: boolean;
} {
  if (lease === false) return { ttlMs: 0, isAutomatic: false };
  checkKnownKeys(lease, 'lease', LEASE);
  const { ttlMs = TTL_MS_DEFAULT, heartbeat = 'auto' } = lease;
  const wanted = '1,000 to 3,600,000 ms; use `lease: false` for a lease that never expires';
  refuseUnless(ttlMs !== 0, 'ttlMs', { value: ttlMs, wanted });
  const isKnown = heartbeat === 'auto' || heartbeat === 'manual';
  refuseUnless(isKnown, 'heartbeat', { value: heartbeat, wanted: "'auto' or 'manual'" });
  return { ttlMs: checkTtlMs(ttlMs), isAutomatic: heartbeat === 'auto' };
}
