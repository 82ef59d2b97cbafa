// Requests for leases, and the scopes that readers name. Writes of states: see checked-write.ts.
import type { LeaseRequest } from '../job.js';
import type { Scope } from '../state.js';
import { checkIncarnation } from './checked-write.js';
import { checkEpoch, checkTaskId, checkTtlMs } from './numbers.js';
import { checkObject, refuseUnless } from './refuse.js';
import { checkHolder, checkJobId, checkTag } from './text.js';

export function checkLeaseRequest(request: LeaseRequest): LeaseRequest {
  const { action } = request;
  const isAction = action === 'claim' || action === 'renew' || action === 'release';
  refuseUnless(isAction, 'action', { value: action, wanted: "'claim', 'renew' or 'release'" });
  return {
    jobId: checkJobId(request.jobId),
    incarnation: checkIncarnation(request.incarnation),
    taskId: checkTaskId(request.taskId),
    action,
    epoch: checkEpoch(request.epoch),
    ttlMs: checkTtlMs(request.ttlMs),
    holder: checkHolder(request.holder),
  };
}

/** With `numTasks`, whether the job has such a task. */
export function checkScope(scope: Scope, numTasks?: number): Scope {
  checkObject(scope, 'scope');
  const { taskId, tag } = scope;
  return {
    ...(taskId === undefined ? {} : { taskId: checkTaskId(taskId, numTasks) }),
    ...(tag === undefined ? {} : { tag: checkTag(tag) }),
  };
}
