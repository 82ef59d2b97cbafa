// Decides one write of a state: whether it applies, and what becomes of the rows then.
//
// The order of the checks is the contract. The event id comes first: a retry of a write that was applied must
// not fail on what it, or time, has changed since. It answers with the write itself at its first version.
//
// J1   An applied write raises the version of its key and the revision of its job by one; one that finds its
//      lease lost makes it held again first, which is a change of its own.
// J2   An event id makes at most one version, as long as it is among the last `recentEventIdsMax` of its key.
// J13  Only the newest claim of this incarnation writes.
import type { StateWrite } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { State } from '../state.js';
import { statusClass } from '../status.js';
import { contentDigest } from './content-digest.js';
import { type Applied, type JobRows, type Refused, refused, type WrittenTags } from './decision.js';
import { nextChange } from './next-change.js';
import {
  eventIdReused,
  fenceRefusal,
  fullRefusal,
  noSuchJob,
  tagsRefusal,
  tombstoneRefusal,
} from './refusals.js';
import type { CellRow, HeadRow, JobChange, RecentWrite, TaskRow } from './rows.js';
import { leaseOf } from './views.js';

export type SetStateRows = JobRows &
  Readonly<{
    task: TaskRow | undefined;
    /** Of the write's task and tag. */
    cell: CellRow | undefined;
    tags: WrittenTags;
  }>;

export type SetStateDecision =
  | Refused
  | Readonly<{ kind: 'duplicate'; state: State }>
  /** `ifVersion` does not hold: answer with the current state of the key, or the default one. */
  | Readonly<{ kind: 'version' }>
  | (Applied &
      Readonly<{
        state: State;
        cell: CellRow;
        /** Set if the lease was lost and is held again. */
        task: TaskRow | undefined;
      }>);

/** `write` has passed `checkStateWrite`. No rows: there is no such job. */
export function decideSetState(
  rows: SetStateRows | undefined,
  write: StateWrite,
  nowMs: number,
): SetStateDecision {
  if (!rows) return refused(noSuchJob(write.jobId));
  const { job, task, cell } = rows;
  const digest = contentDigest(write);
  const earlier = cell?.recent.find(({ eventId }) => eventId === write.eventId);
  if (earlier?.digest === digest) return { kind: 'duplicate', state: stateOf(write, earlier) };
  if (earlier) return refused(eventIdReused(write.eventId, write.tag));
  const refusal = tombstoneRefusal(job) ?? fenceRefusal(job, task, write);
  if (refusal) return refused(refusal);
  const { ifVersion } = write;
  if (ifVersion !== undefined && ifVersion !== (cell?.version ?? 0)) return { kind: 'version' };
  const full = cell ? undefined : roomRefusal(rows, write.tag);
  return full ? refused(full) : apply(rows, { write, digest }, nowMs);
}

function roomRefusal({ job, head, tags }: SetStateRows, tag: string) {
  return (
    tagsRefusal(job, tags, tag) ??
    fullRefusal('statesPerJobMax', head.statesCount + 1, `states of job "${job.jobId}"`)
  );
}

function apply(
  rows: SetStateRows,
  { write, digest }: { readonly write: StateWrite; readonly digest: string },
  nowMs: number,
): SetStateDecision {
  const { cell } = rows;
  const again = heldAgain(rows, nowMs);
  const next = nextChange(again?.head ?? rows.head, nowMs);
  const head = { ...next, statesCount: next.statesCount + (cell ? 0 : 1) };
  const { revision, timestampMs } = head;
  const version = (cell?.version ?? 0) + 1;
  const latest: RecentWrite = { eventId: write.eventId, version, revision, timestampMs, digest };
  const state = stateOf(write, latest);
  return {
    kind: 'apply',
    head,
    state,
    cell: { version, revision, status: write.status, recent: remembered(latest, cell) },
    task: again?.task,
    changes: [...(again?.changes ?? []), { kind: 'state', revision, timestampMs, state }],
  };
}

/** A pause is no death: who writes with the current epoch is alive. */
function heldAgain(
  { head, task }: SetStateRows,
  nowMs: number,
): { readonly head: HeadRow; readonly task: TaskRow; readonly changes: JobChange[] } | undefined {
  if (task?.state !== 'lost') return undefined;
  const next = nextChange(head, nowMs);
  const { revision, timestampMs } = next;
  const held: TaskRow = { ...task, state: 'held', revision };
  const lease = leaseOf(held, nowMs);
  return { head: next, task: held, changes: [{ kind: 'lease', revision, timestampMs, lease }] };
}

function remembered(latest: RecentWrite, cell: CellRow | undefined): readonly RecentWrite[] {
  return [latest, ...(cell?.recent ?? [])].slice(0, jobsLimits.recentEventIdsMax.value);
}

function stateOf(write: StateWrite, { version, revision, timestampMs }: RecentWrite): State {
  const { jobId, taskId, tag, status, message, eventId, schemaVersion, payload } = write;
  return {
    jobId,
    taskId,
    tag,
    status,
    statusClass: statusClass(status),
    message,
    timestampMs,
    version,
    revision,
    eventId,
    schemaVersion,
    ...(payload === undefined ? {} : { payload }),
  };
}
