// Decides what becomes of a task's lease.
//
//            claim              ttl passed, work unfinished
//   (none) ────────▶ held ──────────────────────────────────▶ lost
//                    ▲ │ ▲                                     │ │
//              claim │ │ └──── renewal or write, this epoch ───┘ │
//                    │ ▼ release                                 │ release
//                 released ◀─────────────────────────────────────┘
//
// A claim is possible in every state and raises the epoch. Each arrow takes a revision; a renewal of what is
// held takes none and is not stored. A renewal that comes after the release changes nothing: it was overtaken.
// Renewals and releases also pass on a job marked deleted, so that its managers can close in peace.
//
// J13  After a claim of epoch e + 1 no renewal or release of epoch e passes.
import { assert } from '@syncline/kernel';
import type { LeaseRequest, TaskLease } from '../job.js';
import { type Applied, type JobRows, type Refused, refused } from './decision.js';
import { nextChange } from './next-change.js';
import { fenceRefusal, incarnationRefusal, noSuchJob, tombstoneRefusal } from './refusals.js';
import type { TaskRow } from './rows.js';
import { leaseOf } from './views.js';

export type LeaseRows = JobRows & Readonly<{ task: TaskRow | undefined }>;

export type LeaseDecision =
  | Refused
  /** Nothing to keep. If the lease is held, its time begins anew. */
  | Readonly<{ kind: 'unchanged'; lease: TaskLease }>
  | LeaseApplied;

export type LeaseApplied = Applied & Readonly<{ task: TaskRow; lease: TaskLease }>;

/** `request` has passed `checkLeaseRequest`. No rows: there is no such job. */
export function decideLease(
  rows: LeaseRows | undefined,
  request: LeaseRequest,
  nowMs: number,
): LeaseDecision {
  if (!rows) return refused(noSuchJob(request.jobId));
  const { job, task } = rows;
  if (request.action === 'claim') {
    const refusal = tombstoneRefusal(job) ?? incarnationRefusal(job, request);
    return refusal ? refused(refusal) : transition(rows, claimed(task, request), nowMs);
  }
  const refusal = fenceRefusal(job, task, request);
  if (refusal) return refused(refusal);
  assert(task !== undefined, 'J13: the fence lets only claimed tasks pass');
  const state = request.action === 'release' || task.state === 'released' ? 'released' : 'held';
  if (task.state === state) return { kind: 'unchanged', lease: leaseOf(task, nowMs) };
  return transition(rows, { ...task, state }, nowMs);
}

/**
 * The time of this lease is up and its task has an unfinished cell. Undefined: it was renewed by a new claim,
 * released or declared lost meanwhile.
 */
export function decideLost(
  rows: LeaseRows | undefined,
  epoch: number,
  nowMs: number,
): LeaseApplied | undefined {
  if (rows?.task?.state !== 'held' || rows.task.epoch !== epoch) return undefined;
  return transition(rows, { ...rows.task, state: 'lost' }, nowMs);
}

function claimed(task: TaskRow | undefined, request: LeaseRequest): Omit<TaskRow, 'revision'> {
  const { taskId, ttlMs, holder } = request;
  return { taskId, epoch: (task?.epoch ?? 0) + 1, state: 'held', ttlMs, holder };
}

function transition(rows: LeaseRows, row: Omit<TaskRow, 'revision'>, nowMs: number): LeaseApplied {
  const head = nextChange(rows.head, nowMs);
  const { revision, timestampMs } = head;
  const task = { ...row, revision };
  const lease = leaseOf(task, nowMs);
  const changes = [{ kind: 'lease', revision, timestampMs, lease }] as const;
  return { kind: 'apply', head, task, lease, changes };
}
