// The operations: the core decides each by the rows of the transaction.

import type { CheckedWrite } from '../checks/checked-write.js';
import { decideMark, decideUpdate, type MeantJob } from '../core/decide-job.js';
import { decideLease, decideLost } from '../core/decide-lease.js';
import { decideSetState } from '../core/decide-set-state.js';
import { leaseOf } from '../core/views.js';
import type { JobInfo, JobPatch, LeaseRequest, TaskLease } from '../job.js';
import type { SetStateResult } from '../job-store.js';
import type { State } from '../state.js';
import { withPayload } from '../wire/state-message.js';
import type { GroupRows } from './group-rows.js';
import type { JobOperation } from './job-operation.js';

/** Numbers and names. */
const SMALL_BYTES = 256;

export function setStateOperation(write: CheckedWrite): JobOperation<SetStateResult> {
  const { taskId, tag } = write;
  return {
    bytes: write.bytes,
    documents: (documents) => [documents.task(taskId), documents.state(taskId, tag)],
    decide(rows) {
      const job = rows.job;
      const task = rows.task(taskId);
      const cell = rows.cell(taskId, tag);
      const decision = decideSetState(job && { ...job, task, cell }, write, rows.readAtMs);
      switch (decision.kind) {
        case 'refused':
          throw decision.error;
        case 'duplicate':
          return (committedAtMs) => ({
            applied: true,
            duplicate: true,
            state: stamped(withPayload(decision.state), rows, committedAtMs),
          });
        case 'version': {
          const current = rows.state(taskId, tag);
          return (committedAtMs) => ({
            applied: false,
            reason: 'version',
            current: stamped(current, rows, committedAtMs),
          });
        }
        case 'apply':
          if (decision.task) rows.keepTask(undefined, decision.task);
          rows.keepState(decision, { cell: decision.cell, state: withPayload(decision.state) });
          return (committedAtMs) => ({
            applied: true,
            duplicate: false,
            state: stamped(withPayload(decision.state), rows, committedAtMs),
          });
      }
    },
  };
}

function stamped(state: State, rows: GroupRows, committedAtMs: number): State {
  return { ...state, timestampMs: rows.timeOf(state, committedAtMs) };
}

export function leaseOperation(request: LeaseRequest): JobOperation<TaskLease> {
  const { taskId } = request;
  return {
    bytes: SMALL_BYTES,
    documents: (documents) => [documents.task(taskId)],
    decide(rows) {
      const job = rows.job;
      const decision = decideLease(
        job && { ...job, task: rows.task(taskId) },
        request,
        rows.readAtMs,
      );
      if (decision.kind === 'refused') throw decision.error;
      if (decision.kind === 'apply') rows.keepTask(decision, decision.task);
      const task = rows.task(taskId);
      if (task) rows.renew(task);
      return (committedAtMs) => (task ? leaseOf(task, committedAtMs) : decision.lease);
    },
  };
}

/** Declares a lease lost, unless it was renewed. The times compared are both Firestore's. */
export function lostOperation({
  taskId,
  epoch,
}: {
  readonly taskId: number;
  readonly epoch: number;
}): JobOperation<TaskLease | undefined> {
  return {
    bytes: SMALL_BYTES,
    documents: (documents) => [documents.task(taskId), documents.lease(taskId)],
    decide(rows) {
      const renewal = rows.renewal(taskId);
      const isOverdue =
        renewal?.epoch === epoch && renewal.renewedAtMs + renewal.ttlMs <= rows.readAtMs;
      const job = rows.job;
      const decision =
        isOverdue && job && decideLost({ ...job, task: rows.task(taskId) }, epoch, rows.readAtMs);
      if (!decision) return () => undefined;
      rows.keepTask(decision, decision.task);
      return () => decision.lease;
    },
  };
}

export function updateJobOperation(meant: MeantJob, patch: JobPatch): JobOperation<JobInfo> {
  return {
    bytes: SMALL_BYTES,
    documents: () => [],
    decide(rows) {
      const decision = decideUpdate(rows.job, { ...meant, patch }, rows.readAtMs);
      if (decision.kind === 'refused') throw decision.error;
      rows.keepJob(decision, decision.job);
      return (changedAtMs) => ({ ...decision.info, changedAtMs });
    },
  };
}

export function markJobOperation(meant: MeantJob): JobOperation<JobInfo> {
  return {
    bytes: SMALL_BYTES,
    documents: () => [],
    decide(rows) {
      const decision = decideMark(rows.job, meant, rows.readAtMs);
      if (decision.kind === 'refused') throw decision.error;
      if (decision.kind === 'unchanged') return () => decision.info;
      rows.keepJob(decision, decision.job);
      return (timestampMs) => ({
        ...decision.info,
        changedAtMs: timestampMs,
        deletedAtMs: timestampMs,
      });
    },
  };
}
