// One sweep over a store: deletes the jobs that are past their retention.
//
// A job may change between being listed and being deleted, so the deletion is conditional on the listed revision: a job
// that has changed since is kept. A job that cannot be deleted does not stop the sweep.
import type { Clock, Logger } from '@syncline/kernel';
import { abortedError, createSystemClock, SynclineError, silentLogger } from '@syncline/kernel';
import { checkKnownKeys } from '@syncline/kernel/checks';
import type { JobQuery, JobSummary } from './job.js';
import type { CallOptions, JobStore } from './job-store.js';

const HOUR_MS = 3_600_000;

export type RetentionPolicy = Readonly<{
  /** How long a job whose cells are all finished is kept after its last change. Default 7 days. */
  finishedMs?: number;
  /** How long a job marked as deleted is kept after it was marked. Default 1 hour. */
  markedMs?: number;
  /** How long any other job is kept after its last change. Default `Infinity`: forever. */
  idleMs?: number;
}>;

const POLICY = { finishedMs: true, markedMs: true, idleMs: true, signal: true, observer: true };

/** Why a job may be deleted; undefined if it may not. `nowMs` is by the caller's clock, not the store's. */
function reasonToDelete({ job, cells }: JobSummary, policy: RetentionPolicy, nowMs: number) {
  const { finishedMs = 7 * 24 * HOUR_MS, markedMs = HOUR_MS, idleMs = Infinity } = policy;
  if (job.deletedAtMs !== undefined)
    return nowMs - job.deletedAtMs >= markedMs ? 'marked' : undefined;
  const unchangedMs = nowMs - job.changedAtMs;
  const isFinished = cells.total > 0 && cells.finished === cells.total;
  if (isFinished) return unchangedMs >= finishedMs ? 'finished' : undefined;
  return unchangedMs >= idleMs ? 'idle' : undefined;
}

export interface CollectJobsDeps {
  /** The wall clock. Deletion cannot be undone, so it must not run ahead. */
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly logger: Logger;
}

export type CollectedJobs = Readonly<{
  examined: number;
  deleted: readonly string[];
  /** Jobs whose deletion failed. The next sweep tries them again. */
  failed: readonly Readonly<{ jobId: string; error: SynclineError }>[];
}>;

/** Rethrows errors from listing. `policy.signal` ends the sweep between two jobs, with `aborted`. */
export async function collectJobs(
  store: JobStore,
  policy: RetentionPolicy & CallOptions = {},
  deps: Partial<CollectJobsDeps> = {},
): Promise<CollectedJobs> {
  checkKnownKeys(policy, 'the policy', POLICY);
  const { clock = createSystemClock(), logger = silentLogger } = deps;
  const { signal } = policy;
  const deleted: string[] = [];
  const failed: { jobId: string; error: SynclineError }[] = [];
  let examined = 0;
  let query: JobQuery | undefined = {};
  while (query !== undefined) {
    const { jobs, next } = await store.listJobs(query, { signal });
    for (const summary of jobs) {
      const { jobId, incarnation, revision: ifRevision } = summary.job;
      examined += 1;
      const reason = reasonToDelete(summary, policy, clock.nowMs());
      if (reason === undefined) continue;
      if (signal?.aborted) throw abortedError('the sweep over jobs', signal);
      try {
        if (!(await store.deleteJob(jobId, { signal, incarnation, ifRevision }))) continue;
        deleted.push(jobId);
        logger.info('expired job deleted', { jobId, reason });
      } catch (thrown) {
        const error = SynclineError.from(thrown);
        if (error.code === 'aborted') throw error;
        // The job was recreated or changed after it was listed.
        if (error.code === 'fenced' || error.code === 'conflict') continue;
        failed.push({ jobId, error });
        logger.warn('🟡 an expired job could not be deleted', { jobId, error: error.code });
      }
    }
    query = next === undefined ? undefined : { afterJobId: next };
  }
  return { examined, deleted, failed };
}
