// Opens a job to work on one of its tasks: gets or creates the job, then claims the task.
//
// J15  The number of tasks is that of the job, whoever created it; another one is adopted or refused.
import { hostname } from 'node:os';
import { createSystemClock, createSystemRandom, silentLogger } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';
import { StateReader, type StatusNames } from '../payload/state-reader.js';
import type { TagSchemas } from '../payload/tag-schemas.js';
import { JobLife } from './job-life.js';
import type { JobManager, NoStatusNames } from './job-manager.js';
import { checkKnownOptions } from './known-options.js';
import {
  checkCallPolicy,
  checkLease,
  checkStatuses,
  checkTags,
  type JobManagerDeps,
  type JobManagerOptions,
  type JobManagerTarget,
  metricsBeside,
} from './manager-options.js';
import { openJob, tellDifferences } from './open-job.js';
import { OpenManager } from './open-manager.js';
import { StoreCalls } from './store-calls.js';
import { claimTask } from './task-claim.js';

/** A process that held the task before is fenced by this. Close the manager to release it. */
export async function createJobManager<
  const Tags extends TagSchemas = TagSchemas,
  const Names extends StatusNames = NoStatusNames,
>(
  target: JobManagerTarget,
  options: JobManagerOptions<Tags, Names> = {},
  deps: Partial<JobManagerDeps> = {},
): Promise<JobManager<Tags, Names>> {
  checkKnownOptions(target, options);
  const { clock = createSystemClock(), random = createSystemRandom() } = deps;
  const { log = silentLogger, signal } = options;
  const { store, jobId, taskIndex: taskId } = target;
  const metrics = metricsBeside(store, options.observer);
  const sharedObserver = metrics === options.observer ? undefined : options.observer;
  const tags = checkTags(options.tags);
  const statuses = checkStatuses(options.statuses);
  const policy = checkCallPolicy(options);
  const lease = { ...checkLease(options.lease), taskId, holder: holderName() };
  const calls = new StoreCalls({ clock, random }, policy);
  const logger = log.child({ jobId, taskId });
  const job = await openJob(calls, target, options);
  tellDifferences(logger, job, { target, tags });
  const states = new StateReader(tags, statuses);
  const life = new JobLife(`the manager of task ${taskId} of job "${jobId}"`, metrics);
  const ports = { clock, random, metrics, sharedObserver, logger };
  const access = { store, job, calls, states, life, ...ports };
  const { timeoutMs } = policy;
  const claim = await claimTask(access, { ...lease, timeoutMs }, { ...(signal && { signal }) });
  const manager = new OpenManager({ ...access, claim }, { taskId, tags, statuses, timeoutMs });
  return manager as unknown as JobManager<Tags, Names>; // the tags say what the schemas return
}

/** For people who look at leases: which process it is. */
function holderName(): string {
  return `${hostname()}:${process.pid}`.slice(0, jobsLimits.holderLengthMax.value);
}
