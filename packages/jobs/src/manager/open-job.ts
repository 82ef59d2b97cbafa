// Gets or creates the job of a manager.
//
// J15  The number of tasks is that of the job, whoever created it; another one is adopted or refused.
// J20  Nothing is created for a task that the job could not have.
import { type Logger, SynclineError } from '@syncline/kernel';
import { checkJobSpec } from '../checks/job-input.js';
import { checkInteger } from '../checks/numbers.js';
import { refuseUnless } from '../checks/refuse.js';
import type { JobInfo, JobSpec } from '../job.js';
import { jobsLimits } from '../limits.js';
import type { StatusNames } from '../payload/state-reader.js';
import type { TagSchemas } from '../payload/tag-schemas.js';
import type { JobManagerOptions, JobManagerTarget } from './manager-options.js';
import type { StoreCalls } from './store-calls.js';

export async function openJob(
  calls: StoreCalls,
  target: JobManagerTarget,
  options: JobManagerOptions<TagSchemas, StatusNames>,
): Promise<JobInfo> {
  const { store, jobId, taskIndex, numTasks } = target;
  const { onNumTasksMismatch = 'adopt', signal } = options;
  const isKnown = onNumTasksMismatch === 'adopt' || onNumTasksMismatch === 'fail';
  refuseUnless(isKnown, 'onNumTasksMismatch', {
    value: onNumTasksMismatch,
    wanted: "'adopt' or 'fail'",
  });
  const spec = checkJobSpec(specOf(target, options));
  checkTaskIndex(taskIndex, jobsLimits.tasksPerJobMax.value);
  const what = `opening job "${jobId}"`;
  const job = await calls.run({ what, isWrite: true, signal }, async (call) => {
    if (taskIndex < numTasks) return (await store.createJob(spec, call)).job;
    return store.getJob(jobId, call); // it may have more tasks than this caller thinks
  });
  if (job !== undefined && job.numTasks !== numTasks && onNumTasksMismatch === 'fail') {
    throw mismatchError(job, numTasks);
  }
  if (job === undefined) {
    checkTaskIndex(taskIndex, numTasks);
    throw new SynclineError('not-found', `there is no job "${jobId}"`);
  }
  const wanted = `0 to ${job.numTasks - 1}: job "${jobId}" has ${job.numTasks} tasks, whatever numTasks says here`;
  refuseUnless(taskIndex < job.numTasks, 'taskIndex', { value: taskIndex, wanted });
  return job;
}

/** What this process asked for and does not get, since the job was there already. */
export function tellDifferences(
  logger: Logger,
  job: JobInfo,
  { target, tags }: { readonly target: JobManagerTarget; readonly tags: TagSchemas },
): void {
  if (job.numTasks !== target.numTasks) {
    const fields = { numTasks: job.numTasks, given: target.numTasks };
    logger.warn('🟡 the job has another number of tasks, which is adopted', fields);
  }
  if (Object.keys(tags).length === 0) return; // nothing was asked for
  const declared = new Set(expectedTagsOf(tags));
  const { expectedTags } = job;
  const isSame =
    expectedTags.length === declared.size && expectedTags.every((tag) => declared.has(tag));
  if (isSame) return;
  logger.warn(
    '🟡 the job expects other tags than are declared here; its own count until task 0 calls updateJob',
    { expectedTags, declared: [...declared] },
  );
}

function specOf(
  { jobId, numTasks }: JobManagerTarget,
  { tags = {}, labels = {} }: JobManagerOptions<TagSchemas, StatusNames>,
): JobSpec {
  return { jobId, numTasks, expectedTags: expectedTagsOf(tags), labels };
}

function expectedTagsOf(tags: TagSchemas): readonly string[] {
  return Object.keys(tags).filter((tag) => tags[tag]?.expected !== false);
}

function checkTaskIndex(taskIndex: unknown, numTasks: number): void {
  checkInteger(taskIndex, 'taskIndex', { min: 0, max: numTasks - 1 });
}

function mismatchError({ jobId, numTasks }: JobInfo, given: number): SynclineError {
  return new SynclineError(
    'conflict',
    `job "${jobId}" has ${numTasks} tasks, not ${given}. Start this process with ${numTasks}, or use another job id.`,
    { details: { reason: 'num-tasks', numTasks, given } },
  );
}
