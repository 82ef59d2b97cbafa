// Decides the transitions of a task's lease: see the diagram in SPEC.md.
//
// A renewal that arrives after the release is late and changes nothing. Renewals and releases are also accepted on a job
// marked as deleted, so that its managers can close cleanly.
//
// J13  After a claim of epoch e + 1 no renewal or release of epoch e passes.
import { assert } from '@syncline/kernel';
import type { LeaseRequest, TaskLease } from '../job.js';
import { checkClaimant, checkFence, checkUnmarked, noSuchJob } from './refusals.js';
import { type Applied, type JobRows, leaseOf, nextChange, type TaskRow } from './rows.js';

export type LeaseRows = JobRows & Readonly<{ task: TaskRow | undefined }>;

/** `unchanged`: nothing to store. If the lease is held, its TTL starts over. */
export type LeaseDecision = Readonly<{ kind: 'unchanged'; lease: TaskLease }> | LeaseApplied;

export type LeaseApplied = Applied & Readonly<{ task: TaskRow; lease: TaskLease }>;

/** `request` has passed `checkLeaseRequest`. `rows` is undefined if the job does not exist. */
export function decideLease(
  rows: LeaseRows | undefined,
  request: LeaseRequest,
  nowMs: number,
): LeaseDecision {
  if (!rows) throw noSuchJob(request.jobId);
  const { job, task } = rows;
  if (request.action === 'claim') {
    checkUnmarked(job);
    checkClaimant(job, request);
    const { taskId, ttlMs, holder } = request;
    const epoch = (task?.epoch ?? 0) + 1;
    return transition(rows, { taskId, epoch, state: 'held', ttlMs, holder }, nowMs);
  }
  checkFence(job, task, request);
  assert(task !== undefined, 'J13: the fence lets only claimed tasks pass');
  const state = request.action === 'release' || task.state === 'released' ? 'released' : 'held';
  if (task.state === state) return { kind: 'unchanged', lease: leaseOf(task, nowMs) };
  return transition(rows, { ...task, state }, nowMs);
}

/** For an expired lease. Undefined if the task has since been claimed again, released or declared lost. */
export function decideLost(
  rows: LeaseRows | undefined,
  epoch: number,
  nowMs: number,
): LeaseApplied | undefined {
  if (rows?.task?.state !== 'held' || rows.task.epoch !== epoch) return undefined;
  return transition(rows, { ...rows.task, state: 'lost' }, nowMs);
}

export function transition(
  rows: LeaseRows,
  row: Omit<TaskRow, 'revision'>,
  nowMs: number,
): LeaseApplied {
  const head = nextChange(rows.head, nowMs);
  const { revision, timestampMs } = head;
  const task = { ...row, revision };
  const lease = leaseOf(task, nowMs);
  const changes = [{ kind: 'lease', revision, timestampMs, lease }] as const;
  return { kind: 'apply', head, task, lease, changes };
}
