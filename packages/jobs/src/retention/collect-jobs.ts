// One sweep over a store: deletes the jobs that are past their retention.
//
// A job may change between the page that named it and its deletion, so it is looked at once more right
// before: only one that has not changed since goes. A job that cannot be deleted does not keep the others.
import {
  abortedError,
  type Clock,
  createSystemClock,
  type Logger,
  SynclineError,
  silentLogger,
} from '@syncline/kernel';
import type { JobInfo, JobQuery } from '../job.js';
import type { CallOptions, JobStore } from '../job-store.js';
import { type RetentionPolicy, reasonToDelete } from './retention-policy.js';

export interface CollectJobsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

export type CollectedJobs = Readonly<{
  examined: number;
  deleted: readonly string[];
  /** Those whose deletion failed. They are tried again by the next sweep. */
  failed: readonly Readonly<{ jobId: string; error: SynclineError }>[];
}>;

/** Throws what listing throws. `policy.signal` ends it between two jobs, with `aborted`. */
export async function collectJobs(
  store: JobStore,
  policy: RetentionPolicy & CallOptions = {},
  deps: Partial<CollectJobsDeps> = {},
): Promise<CollectedJobs> {
  const { clock = createSystemClock(), logger = silentLogger } = deps;
  const call = policy.signal === undefined ? {} : { signal: policy.signal };
  const deleted: string[] = [];
  const failed: { jobId: string; error: SynclineError }[] = [];
  let examined = 0;
  let query: JobQuery | undefined = {};
  while (query !== undefined) {
    const { jobs, next } = await store.listJobs(query, call);
    for (const summary of jobs) {
      const { job } = summary;
      examined += 1;
      const reason = reasonToDelete(summary, policy, clock.nowMs());
      if (reason === undefined) continue;
      if (policy.signal?.aborted) throw abortedError('the sweep over jobs', policy.signal);
      try {
        if (!(await deleteUnchanged(store, job, call))) continue;
        deleted.push(job.jobId);
        logger.info('a job past its retention was deleted', { jobId: job.jobId, reason });
      } catch (thrown) {
        const error = SynclineError.from(thrown);
        if (error.code === 'aborted') throw error;
        // Created again, or changed, since it was looked at.
        if (error.code === 'fenced' || error.code === 'conflict') continue;
        failed.push({ jobId: job.jobId, error });
        logger.warn('🟡 a job past its retention was not deleted', {
          jobId: job.jobId,
          error: error.code,
        });
      }
    }
    query = next === undefined ? undefined : { afterJobId: next };
  }
  return { examined, deleted, failed };
}

/** A change since the job was looked at is a `conflict`, and the job stays. */
function deleteUnchanged(store: JobStore, seen: JobInfo, call: CallOptions): Promise<boolean> {
  const { jobId, incarnation, revision: ifRevision } = seen;
  return store.deleteJob(jobId, { ...call, incarnation, ifRevision });
}
