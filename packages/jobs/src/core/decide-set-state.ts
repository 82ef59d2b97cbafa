// Decides one state write: whether it applies, and the resulting rows.
//
// The order of the checks is part of the contract. The event id comes first: a retry of an applied write must not fail
// because of changes made since, by that write or by others (J2).
//
// J1   An applied write raises the version of its key and the revision of its job by one. If the lease was lost, the
//      write first makes it held again, which is a separate change.
import type { CheckedWrite } from '../checks/checked-write.js';
import { statusClass } from '../job.js';
import { limitValues } from '../limits.js';
import type { StoredState } from '../wire/messages.js';
import { transition } from './decide-lease.js';
import {
  checkFence,
  checkRoom,
  checkTagsCount,
  checkUnmarked,
  eventIdReused,
  noSuchJob,
} from './refusals.js';
import type { CellRow, RecentWrite, TaskRow } from './rows.js';
import { type Applied, type JobRows, nextChange, type WrittenTags } from './rows.js';

export type SetStateRows = JobRows &
  Readonly<{
    task: TaskRow | undefined;
    cell: CellRow | undefined;
    tags: WrittenTags;
  }>;

export type SetStateDecision =
  | Readonly<{ kind: 'duplicate'; state: StoredState }>
  /** `ifVersion` does not match: the result is the current state of the key, or the default one. */
  | Readonly<{ kind: 'version' }>
  | (Applied &
      Readonly<{
        state: StoredState;
        cell: CellRow;
        /** Set if the lease was lost and is held again. */
        task: TaskRow | undefined;
      }>);

/** `write` has passed `checkStateWrite`. `rows` is undefined if the job does not exist. */
export function decideSetState(
  rows: SetStateRows | undefined,
  write: CheckedWrite,
  nowMs: number,
): SetStateDecision {
  if (!rows) throw noSuchJob(write.jobId);
  const { job, task, cell } = rows;
  const { digest } = write;
  const earlier = cell?.recent.find(({ eventId }) => eventId === write.eventId);
  if (earlier?.digest === digest) return { kind: 'duplicate', state: stateOf(write, earlier) };
  if (earlier) throw eventIdReused(write.eventId, write.tag);
  checkUnmarked(job);
  checkFence(job, task, write);
  const { ifVersion } = write;
  if (ifVersion !== undefined && ifVersion !== (cell?.version ?? 0)) return { kind: 'version' };
  if (!cell) {
    checkTagsCount(job, rows.tags, write.tag);
    checkRoom('statesPerJobMax', rows.head.statesCount + 1, `states of job "${job.jobId}"`);
  }
  return apply(rows, write, nowMs);
}

function apply(rows: SetStateRows, write: CheckedWrite, nowMs: number): SetStateDecision {
  const { cell, task } = rows;
  // A writer with the current epoch is alive: it was only paused.
  const again = task?.state === 'lost' && transition(rows, { ...task, state: 'held' }, nowMs);
  const next = nextChange(again ? again.head : rows.head, nowMs);
  const head = { ...next, statesCount: next.statesCount + (cell ? 0 : 1) };
  const { revision, timestampMs } = head;
  const version = (cell?.version ?? 0) + 1;
  const { eventId, digest } = write;
  const latest: RecentWrite = { eventId, version, revision, timestampMs, digest };
  const state = stateOf(write, latest);
  return {
    kind: 'apply',
    head,
    state,
    cell: {
      version,
      revision,
      status: write.status,
      progress: write.progress ?? 0,
      recent: remembered(latest, cell),
    },
    task: again ? again.task : undefined,
    changes: [...(again ? again.changes : []), { kind: 'state', revision, timestampMs, state }],
  };
}

function remembered(latest: RecentWrite, cell: CellRow | undefined): readonly RecentWrite[] {
  return [latest, ...(cell?.recent ?? [])].slice(0, limitValues.recentEventIdsMax);
}

function stateOf(
  write: CheckedWrite,
  { version, revision, timestampMs }: RecentWrite,
): StoredState {
  const { jobId, taskId, tag, status, message, progress, eventId, schemaVersion } = write;
  const { payloadJson } = write;
  return {
    jobId,
    taskId,
    tag,
    status,
    statusClass: statusClass(status),
    message,
    ...(progress === undefined ? {} : { progress }),
    timestampMs,
    version,
    revision,
    eventId,
    schemaVersion,
    ...(payloadJson === undefined ? {} : { payloadJson }),
  };
}
