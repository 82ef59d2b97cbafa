// What tasks send: writes of states and requests for leases; and the scopes that readers name.
//
// A check returns what will be stored: a copy that the caller cannot change any more.
import type { LeaseRequest } from '../job.js';
import type { StateWrite } from '../job-store.js';
import type { Scope } from '../state.js';
import {
  checkCount,
  checkEpoch,
  checkSchemaVersion,
  checkStatus,
  checkTaskId,
  checkTtlMs,
} from './numbers.js';
import { checkPayload } from './payload.js';
import { checkObject, refuseUnless } from './refuse.js';
import { checkEventId, checkHolder, checkJobId, checkMessage, checkTag } from './text.js';

export function checkStateWrite(write: StateWrite): StateWrite {
  const { payload, ifVersion, durability } = write;
  const isDurability =
    durability === undefined || durability === 'synced' || durability === 'buffered';
  refuseUnless(isDurability, 'durability', { value: durability, wanted: "'synced' or 'buffered'" });
  return {
    jobId: checkJobId(write.jobId),
    incarnation: checkIncarnation(write.incarnation),
    taskId: checkTaskId(write.taskId),
    epoch: checkEpoch(write.epoch),
    tag: checkTag(write.tag),
    status: checkStatus(write.status),
    message: checkMessage(write.message),
    schemaVersion: checkSchemaVersion(write.schemaVersion),
    eventId: checkEventId(write.eventId),
    ...(payload === undefined ? {} : { payload: checkPayload(payload) }),
    ...(ifVersion === undefined ? {} : { ifVersion: checkCount(ifVersion, 'ifVersion') }),
    ...(durability === undefined ? {} : { durability }),
  };
}

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

/** Any text: whether it is the job's is the fence's question. */
function checkIncarnation(value: unknown): string {
  refuseUnless(typeof value === 'string', 'incarnation', {
    value,
    wanted: 'what createJob returned',
  });
  return value;
}
