// The fold that a watch begins with. A stream from the start brings all states itself; one that resumes brings
// only what came later, so what was there before is read first.
import type { Scope } from '@syncline/jobs';
import { fetchAnswer } from '../status/fetch-answer.js';
import type { StatusTarget } from '../status/status-target.js';
import { isStatePage } from './job-answers.js';
import { JobFold } from './job-fold.js';
import { fetchJob, jobPath, scopeQuery } from './job-target.js';

export interface FoldStart {
  readonly jobId: string;
  readonly scope: Scope;
  readonly isResumed: boolean;
}

export async function startFold(
  target: StatusTarget,
  { jobId, scope, isResumed }: FoldStart,
): Promise<JobFold> {
  const { job, lost } = await fetchJob(target, jobId, scope);
  const fold = new JobFold(job, scope);
  if (!isResumed) return fold;
  fold.seedLost(lost);
  const query = scopeQuery(scope);
  for (let afterRevision = 0, isMore = true; isMore; ) {
    query.set('afterRevision', String(afterRevision));
    const page = await fetchAnswer(
      target,
      `${jobPath(jobId)}/states?${query.toString()}`,
      isStatePage,
    );
    fold.seed(page.states, page.revision);
    isMore = page.more && page.revision > afterRevision;
    afterRevision = page.revision;
  }
  return fold;
}
