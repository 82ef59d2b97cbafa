// Opens a job to look at it: no task, no writes, and nothing is created.
import { createSystemClock, createSystemRandom, silentLogger } from '@syncline/kernel';
import { checkJobId } from '../checks/text.js';
import { noSuchJob } from '../core/refusals.js';
import { StateReader, type StatusNames } from '../payload/state-reader.js';
import type { TagSchemas } from '../payload/tag-schemas.js';
import { JobLife } from './job-life.js';
import type { NoStatusNames } from './job-manager.js';
import type { JobReader } from './job-reader.js';
import {
  checkCallPolicy,
  checkStatuses,
  checkTags,
  type JobManagerDeps,
  type JobReaderOptions,
  type JobReaderTarget,
  metricsBeside,
} from './manager-options.js';
import { OpenReader } from './open-reader.js';
import { StoreCalls } from './store-calls.js';

/** Throws `not-found` if there is no such job. */
export async function createJobReader<
  const Tags extends TagSchemas = TagSchemas,
  const Names extends StatusNames = NoStatusNames,
>(
  { store, jobId }: JobReaderTarget,
  options: JobReaderOptions<Tags, Names> = {},
  deps: Partial<JobManagerDeps> = {},
): Promise<JobReader<Tags>> {
  const { clock = createSystemClock(), random = createSystemRandom() } = deps;
  const { log = silentLogger, signal } = options;
  const metrics = metricsBeside(store, options.observer);
  checkJobId(jobId);
  const states = new StateReader(checkTags(options.tags), checkStatuses(options.statuses));
  const calls = new StoreCalls({ clock, random }, checkCallPolicy(options));
  const what = `the reader of job "${jobId}"`;
  const job = await calls.run({ what, isWrite: false, signal }, (call) =>
    store.getJob(jobId, call),
  );
  if (job === undefined) throw noSuchJob(jobId);
  const logger = log.child({ jobId });
  const life = new JobLife(what, metrics);
  const reader = new OpenReader({
    store,
    job,
    calls,
    states,
    life,
    clock,
    random,
    metrics,
    logger,
  });
  return reader as unknown as JobReader<Tags>; // the tags say what the schemas return
}
