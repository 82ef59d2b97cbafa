// All decisions of jobs: rows and a time go in; new rows and the changes come out. A refusal is thrown.
//
// J1   Creation is revision 1; each later change takes the next one. An applied write raises the version of its key by
//      one. If the lease was lost, it is first held again, which is a separate change.
// J13  After a claim of epoch e + 1 no write, renewal or release of epoch e passes.
// J15  `numTasks` is set at creation and never changes: creating a job that exists returns the existing one.
import { assert } from '@syncline/kernel';
import type { CheckedWrite } from '../checks/checked-write.js';
import { checkRoom } from '../checks/values.js';
import type { JobInfo, JobPatch, JobSpec, LeaseRequest, Mutable, TaskLease } from '../job.js';
import { defaultState, statusClass } from '../job.js';
import { limitValues } from '../limits.js';
import type { StoredState } from '../wire/messages.js';
import * as refusals from './refusals.js';
import type { CellRow, JobRow, JobRows, RecentWrite, TaskRow, WrittenTags } from './rows.js';
import { jobInfoOf, leaseOf, nextChange } from './rows.js';

/** Part of every decision to change something; a refusal is thrown. `head` is as of its last change. */
export type Applied = Readonly<{ kind: 'apply'; head: JobRows['head'] }>;

export type JobApplied = Applied & Readonly<{ job: JobRow; info: JobInfo }>;

type JobUnchanged = Readonly<{ kind: 'unchanged'; info: JobInfo }>;

/** The job that a call refers to. Without an incarnation, whichever job has the id now. */
export type JobRef = Readonly<{ jobId: string; incarnation?: string | undefined }>;

/** `spec` has passed `checkJobSpec`. The incarnation was never used before. */
export function decideCreate(
  rows: JobRows | undefined,
  spec: Required<JobSpec>,
  { incarnation, jobsCount, nowMs }: { incarnation: string; jobsCount: number; nowMs: number },
): JobUnchanged | JobApplied {
  if (rows) {
    refusals.checkUnmarked(rows.job);
    return { kind: 'unchanged', info: jobInfoOf(rows.job, rows.head) };
  }
  checkRoom('jobsMax', jobsCount + 1, 'jobs');
  const head = nextChange({ revision: 0, timestampMs: 0, statesCount: 0 }, nowMs);
  return applied(head, { ...spec, incarnation, createdAtMs: head.timestampMs });
}

/** `patch` has passed `checkJobPatch`. */
export function decideUpdate(
  rows: (JobRows & Readonly<{ tags: WrittenTags }>) | undefined,
  { jobId, patch, incarnation }: JobRef & Readonly<{ patch: JobPatch }>,
  nowMs: number,
): JobApplied {
  if (!rows) throw refusals.noSuchJob(jobId);
  refusals.checkIncarnationOf(rows.job, incarnation);
  refusals.checkUnmarked(rows.job);
  const job = { ...rows.job, ...patch };
  if (patch.expectedTags) refusals.checkTagsCount(job, rows.tags);
  return applied(nextChange(rows.head, nowMs), job);
}

export function decideMark(
  rows: JobRows | undefined,
  { jobId, incarnation }: JobRef,
  nowMs: number,
): JobUnchanged | JobApplied {
  if (!rows) throw refusals.noSuchJob(jobId);
  const { job } = rows;
  refusals.checkIncarnationOf(job, incarnation);
  if (job.deletedAtMs !== undefined) return { kind: 'unchanged', info: jobInfoOf(job, rows.head) };
  const head = nextChange(rows.head, nowMs);
  return applied(head, { ...job, deletedAtMs: head.timestampMs });
}

function applied(head: JobRows['head'], metadata: Omit<JobRow, 'metadataRevision'>): JobApplied {
  const job = { ...metadata, metadataRevision: head.revision };
  return { kind: 'apply', head, job, info: jobInfoOf(job, head) };
}

// Leases: see the diagram in SPEC.md. A renewal that arrives after the release is late and changes nothing. Renewals and
// releases are also accepted on a job marked as deleted, so that its managers can close cleanly.

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
  if (!rows) throw refusals.noSuchJob(request.jobId);
  const { job, task } = rows;
  if (request.action === 'claim') {
    refusals.checkUnmarked(job);
    refusals.checkClaimant(job, request);
    const { taskId, ttlMs, holder } = request;
    const epoch = (task?.epoch ?? 0) + 1;
    return transition(rows, { taskId, epoch, state: 'held', ttlMs, holder }, nowMs);
  }
  refusals.checkFence(job, task, request);
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

function transition(rows: LeaseRows, row: Omit<TaskRow, 'revision'>, nowMs: number): LeaseApplied {
  const head = nextChange(rows.head, nowMs);
  const task = { ...row, revision: head.revision };
  return { kind: 'apply', head, task, lease: leaseOf(task, nowMs) };
}

// State writes. The order of the checks is part of the contract. The event id comes first: a retry of an applied write
// must not fail because of changes made since, by that write or by others (J2).

export type SetStateRows = LeaseRows & Readonly<{ cell: CellRow | undefined; tags: WrittenTags }>;

export type SetStateDecision =
  | Readonly<{ kind: 'duplicate'; state: StoredState }>
  /** `ifVersion` does not match: the result is the current state of the key, or the default one. */
  | Readonly<{ kind: 'version' }>
  | StateApplied;

/** `task` and `lease` are set if the lease was lost: it is held again, by a change before that of the state. */
export type StateApplied = Applied &
  Partial<LeaseApplied> &
  Readonly<{ state: StoredState; cell: CellRow }>;

/** `write` has passed `checkStateWrite`. `rows` is undefined if the job does not exist. */
export function decideSetState(
  rows: SetStateRows | undefined,
  write: CheckedWrite,
  nowMs: number,
): SetStateDecision {
  if (!rows) throw refusals.noSuchJob(write.jobId);
  const { job, task, cell } = rows;
  const { eventId, digest, ifVersion } = write;
  const earlier = cell?.recent.find((each) => each.eventId === eventId);
  if (earlier?.digest === digest) return { kind: 'duplicate', state: stateOf(write, earlier) };
  if (earlier) throw refusals.eventIdReused(eventId, write.tag);
  refusals.checkUnmarked(job);
  refusals.checkFence(job, task, write);
  if (ifVersion !== undefined && ifVersion !== (cell?.version ?? 0)) return { kind: 'version' };
  if (!cell) {
    refusals.checkTagsCount(job, rows.tags, write.tag);
    const states = `states of job "${job.jobId}"`;
    checkRoom('statesPerJobMax', rows.head.statesCount + 1, states);
  }
  return apply(rows, write, nowMs);
}

function apply(rows: SetStateRows, write: CheckedWrite, nowMs: number): StateApplied {
  const { cell, task } = rows;
  const { eventId, digest, status, progress = 0 } = write;
  // A writer with the current epoch is alive: it was only paused.
  const isLost = task?.state === 'lost';
  const again = isLost ? transition(rows, { ...task, state: 'held' }, nowMs) : undefined;
  const next = nextChange(again?.head ?? rows.head, nowMs);
  const { revision, timestampMs } = next;
  const head = { revision, timestampMs, statesCount: next.statesCount + (cell ? 0 : 1) };
  const version = (cell?.version ?? 0) + 1;
  const latest: RecentWrite = { eventId, version, revision, timestampMs, digest };
  const recent = [latest, ...(cell?.recent ?? [])].slice(0, limitValues.recentEventIdsMax);
  return {
    ...again,
    kind: 'apply',
    head,
    state: stateOf(write, latest),
    cell: { version, revision, status, progress, recent },
  };
}

function stateOf(
  write: CheckedWrite,
  { version, revision, timestampMs }: RecentWrite,
): StoredState {
  const state: Mutable<StoredState> = defaultState(write.jobId, write.taskId, write.tag);
  state.status = write.status;
  state.statusClass = statusClass(write.status);
  state.message = write.message;
  state.timestampMs = timestampMs;
  state.version = version;
  state.revision = revision;
  state.eventId = write.eventId;
  state.schemaVersion = write.schemaVersion;
  if (write.progress !== undefined) state.progress = write.progress;
  if (write.payloadJson !== undefined) state.payloadJson = write.payloadJson;
  return state;
}
