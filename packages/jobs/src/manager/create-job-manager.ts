// Opens a job: `createJobManager` to work on one of its tasks, `createJobReader` to read it.
//
// J15  A job keeps the number of tasks it was created with; a caller with a different number adopts it or is refused.
// J20  Nothing is created for a task that the job could not have, and nothing by a reader.
import { hostname } from 'node:os';
import {
  createWarningLogger,
  type LogFields,
  type Logger,
  SynclineError,
  silentMetrics,
} from '@syncline/kernel';
import * as check from '@syncline/kernel/checks';
import { checkLabels } from '../checks/input.js';
import * as values from '../checks/values.js';
import { noSuchJob } from '../core/refusals.js';
import { type EngineDeps, withSystemDeps } from '../engine/store-adapter.js';
import type { JobInfo, Labels } from '../job.js';
import type { JobStore } from '../job-store.js';
import { limitValues } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type {
  JobManager,
  JobReader,
  NoStatusNames,
  StatusNames,
  TagSchema,
  TagSchemas,
} from './job-manager.js';
import { OpenManager } from './open-manager.js';
import { OpenReader, type ReaderDeps } from './open-reader.js';
import { StateReader } from './state-reader.js';
import { createOutageLog, OpenCall } from './store-calls.js';

/** Claims the task, which fences any process that held it before. Close the manager to release it. */
export async function createJobManager<
  const Tags extends TagSchemas = TagSchemas,
  const Names extends StatusNames = NoStatusNames,
>(
  target: JobManagerTarget,
  options: JobManagerOptions<Tags, Names> = {},
  deps: Partial<JobManagerDeps> = {},
): Promise<JobManager<Tags, Names>> {
  const { store, jobId, taskIndex } = check.checkMembers(target, 'the target', MANAGER_TARGET);
  const checked: ManagerOptions = check.checkMembers(options, 'the options', MANAGER_OPTIONS);
  const { signal, lease } = checked;
  const parts = readerDeps(store, checked, { ...deps, logFields: { jobId, taskId: taskIndex } });
  const call = { what: `opening task ${taskIndex} of job "${jobId}"`, isWrite: true, signal };
  using opening = new OpenCall(parts, call);
  const job = await openJob(opening, target, checked, parts.logger);
  const { incarnation } = job;
  const holder = `${hostname()}:${process.pid}`.slice(0, limitValues.holderLengthMax);
  const request = { jobId, incarnation, taskId: taskIndex, ttlMs: lease.ttlMs, holder };
  const { epoch } = await opening.send((sent) =>
    store.lease({ ...request, action: 'claim', epoch: 0 }, sent),
  );
  const manager = new OpenManager(parts, job, { ...request, epoch }, lease.isAutomatic);
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
  const { store, jobId } = check.checkMembers(target, 'the target', READER_TARGET);
  const checked: ReaderOptions = check.checkMembers(options, 'the options', READER_OPTIONS);
  const parts = readerDeps(store, checked, { ...deps, logFields: { jobId } });
  const what = `the reader of job "${jobId}"`;
  using opening = new OpenCall(parts, { what, signal: checked.signal });
  const job = await opening.send((call) => store.getJob(jobId, call));
  if (job === undefined) throw noSuchJob(jobId);
  const reader = new OpenReader(parts, job, what);
  return reader as unknown as JobReader<Tags>; // the schemas of the tags determine the types
}

function readerDeps(
  store: JobStore,
  { tags, statuses, timeoutMs, retry, observer, log }: ReaderOptions,
  deps: Partial<JobManagerDeps> & { readonly logFields: LogFields },
): ReaderDeps {
  const { clock, random } = withSystemDeps(deps);
  const logger = log.child(deps.logFields);
  return {
    ...{ store, clock, random, timeoutMs, retry, logger, observer },
    noteOutage: createOutageLog(logger),
    states: new StateReader(tags, statuses),
    // What happens in the store is counted once, even if it has the same observer.
    metrics: store.observer === observer ? silentMetrics : observer,
  };
}

async function openJob(
  opening: OpenCall,
  { store, jobId, taskIndex, numTasks }: JobManagerTarget,
  { tags, labels, onNumTasksMismatch }: ManagerOptions,
  logger: Logger,
): Promise<JobInfo> {
  const declared = Object.keys(tags).filter((tag) => tags[tag]?.expected !== false);
  const spec = { jobId, numTasks, expectedTags: declared, labels };
  const job = await opening.send(async (call) => {
    if (taskIndex < numTasks) return (await store.createJob(spec, call)).job;
    return store.getJob(jobId, call); // the job may have more tasks than the caller assumes
  });
  if (job === undefined) {
    const wanted = `a number below numTasks, which is ${numTasks}, since tasks are counted from 0`;
    throw check.invalidArgument('taskIndex', taskIndex, wanted);
  }
  const numbers = { numTasks: job.numTasks, given: numTasks };
  if (job.numTasks !== numTasks && onNumTasksMismatch === 'fail') {
    const message = `job "${jobId}" has ${job.numTasks} tasks, not ${numTasks}. Start this process with ${job.numTasks}, or use another job id.`;
    throw new SynclineError('conflict', message, { details: { reason: 'num-tasks', ...numbers } });
  }
  const wanted = `a task that exists: job "${jobId}" has ${job.numTasks} tasks, counted from 0`;
  check.refuseUnless(taskIndex < job.numTasks, 'taskIndex', { value: taskIndex, wanted });
  // Requested settings that have no effect because the job already existed are logged.
  if (job.numTasks !== numTasks)
    logger.warn('🟡 the job has a different number of tasks; using that of the job', numbers);
  const { expectedTags } = job;
  const isSame =
    expectedTags.length === declared.length && expectedTags.every((tag) => declared.includes(tag));
  if (Object.keys(tags).length > 0 && !isSame) {
    const message =
      '🟡 the job expects different tags than declared here; using those of the job until task 0 calls updateJob';
    logger.warn(message, { expectedTags, declared });
  }
  return job;
}

// The options of managers and readers, and their checks.

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
  retry?: Readonly<{ initialMs?: number; maxMs?: number }>;
  /** Receives metrics. If the store has the same observer, nothing is counted twice. */
  observer?: JobsMetrics;
  /** Default: warnings and errors become Node.js process warnings, which go to standard error. */
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
export type JobManagerDeps = Pick<EngineDeps, 'clock' | 'random'>;

const READER_TARGET: check.Checks<JobReaderTarget> = {
  store: check.checkThat(
    (value) => typeof value === 'object' && value !== null,
    'a job store, such as createRemoteJobStore(…)',
  ),
  jobId: values.checkJobId,
};
const MANAGER_TARGET: check.Checks<JobManagerTarget> = {
  ...READER_TARGET,
  taskIndex: check.integer('taskIndex', 0, limitValues.tasksPerJobMax - 1),
  numTasks: values.checkNumTasks,
};

const checkDuration = check.integer('duration', 1, 3_600_000);
const READER_OPTIONS = {
  tags: check.orDefault(checkTags, {}),
  statuses: check.orDefault(checkStatuses, {}),
  timeoutMs: check.orDefault(checkDuration, 60_000),
  retry: check.orDefault(
    check.members({
      initialMs: check.orDefault(checkDuration, 100),
      maxMs: check.orDefault(checkDuration, 5_000),
    }),
    {},
  ),
  observer: check.orDefault<JobsMetrics>(check.anyValue, silentMetrics),
  log: check.orDefault<Logger>(check.anyValue, createWarningLogger('@syncline/jobs')),
  signal: check.anyValue as check.Check<AbortSignal | undefined>,
} satisfies Record<keyof JobReaderOptions<TagSchemas, StatusNames>, check.Check<unknown>>;
const MANAGER_OPTIONS = {
  ...READER_OPTIONS,
  labels: check.orDefault(checkLabels, {}),
  lease: check.orDefault(checkLease, {}),
  onNumTasksMismatch: check.orDefault(check.oneOf('adopt', 'fail'), 'adopt'),
} satisfies Record<keyof JobManagerOptions<TagSchemas, StatusNames>, check.Check<unknown>>;

type ReaderOptions = check.Checked<typeof READER_OPTIONS>;
type ManagerOptions = check.Checked<typeof MANAGER_OPTIONS>;

const LEASE = {
  ttlMs: check.orDefault(values.checkTtlMs, 30_000),
  heartbeat: check.orDefault(check.oneOf('auto', 'manual'), 'auto'),
};
const TAG: check.Checks<TagSchema> = {
  schema: check.anyValue,
  schemaVersion: check.optional(values.checkSchemaVersion),
  expected: check.anyValue,
  migrate: check.anyValue,
};

function checkTags(value: unknown): TagSchemas {
  const tags = check.checkObject(value, 'tags') as TagSchemas;
  for (const [tag, schema] of Object.entries(tags))
    check.checkMembers(schema, `tags.${values.checkTag(tag, 'tags')}`, TAG);
  return tags;
}

function checkStatuses(value: unknown): StatusNames {
  const statuses = check.checkObject(value, 'statuses') as StatusNames;
  for (const [name, status] of Object.entries(statuses))
    values.checkStatus(status, `statuses.${name}`);
  return statuses;
}

/** A `ttlMs` of 0 never expires. */
function checkLease(lease: unknown): { readonly ttlMs: number; readonly isAutomatic: boolean } {
  if (lease === false) return { ttlMs: 0, isAutomatic: false };
  const { ttlMs, heartbeat } = check.checkMembers(lease, 'lease', LEASE);
  const wanted = '1,000 to 3,600,000 ms; use `lease: false` for a lease that never expires';
  check.refuseUnless(ttlMs !== 0, 'ttlMs', { value: ttlMs, wanted });
  return { ttlMs, isAutomatic: heartbeat === 'auto' };
}
