// Which limit of the jobs caused a refusal, if any: it then shows in the log, /metrics and /api/status.
import { jobsLimits } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';

export function reachedLimitOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof SynclineError)) return undefined;
  const { limit } = thrown.details;
  return typeof limit === 'string' && limit in jobsLimits ? limit : undefined;
}
