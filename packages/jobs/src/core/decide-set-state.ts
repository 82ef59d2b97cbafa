// Decides one write of a state: whether it applies, and what becomes of the rows then.
//
// The order of the checks is the contract. The event id comes first: a retry of a write that was applied must
// not fail on what it, or time, has changed since. It answers with the write itself at its first version.
//
// J1   An applied write raises the version of its key and the revision of its job by one; one that finds its
//      lease lost makes it held again first, which is a change of its own.
// J2   An event id makes at most one version, as long as it is among the last `recentEventIdsMax` of its key.
// J13  Only the newest claim of this incarnation writes.
import { hash } from 'node:crypto';
import type { WriteFields } from '../checks/checked-write.js';
import { jobsLimits } from '../limits.js';
import { statusClass } from '../status.js';
import type { StoredState } from '../wire/state-message.js';
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
import type { CellRow, DecidedChange, HeadRow, RecentWrite, TaskRow } from './rows.js';
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
  | Readonly<{ kind: 'duplicate'; state: StoredState }>
  /** `ifVersion` does not hold: answer with the current state of the key, or the default one. */
  | Readonly<{ kind: 'version' }>
  | (Applied &
      Readonly<{
        state: StoredState;
        cell: CellRow;
        /** Set if the lease was lost and is held again. */
        task: TaskRow | undefined;
      }>);

/** `write` has passed `checkStateWrite`. No rows: there is no such job. */
export function decideSetState(
  rows: SetStateRows | undefined,
  write: WriteFields,
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
  { write, digest }: { readonly write: WriteFields; readonly digest: string },
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
    cell: {
      version,
      revision,
      status: write.status,
      progress: write.progress ?? 0,
      recent: remembered(latest, cell),
    },
    task: again?.task,
    changes: [...(again?.changes ?? []), { kind: 'state', revision, timestampMs, state }],
  };
}

/** A pause is no death: who writes with the current epoch is alive. */
function heldAgain(
  { head, task }: SetStateRows,
  nowMs: number,
):
  | { readonly head: HeadRow; readonly task: TaskRow; readonly changes: DecidedChange[] }
  | undefined {
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

function stateOf(write: WriteFields, { version, revision, timestampMs }: RecentWrite): StoredState {
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

/** Characters of base64url, of 6 bits each. Eight digests are kept with every key, so they are short. */
const DIGEST_LENGTH = 22;

/**
 * Tells a retry from another write under the same event id. SHA-256, cut to 132 bits: no two contents share it, not
 * even two that were made to. The order of the members of a payload does not count.
 */
function contentDigest(
  write: Pick<WriteFields, 'status' | 'message' | 'progress' | 'payloadJson' | 'schemaVersion'>,
): string {
  const { status, message, progress = null, payloadJson, schemaVersion } = write;
  const head = JSON.stringify([status, message, progress, schemaVersion]);
  const payload = payloadJson === undefined ? '' : canonicalJson(payloadJson);
  return hash('sha256', head + payload, 'base64url').slice(0, DIGEST_LENGTH);
}

/** One text for equal JSON values. */
function canonicalJson(json: string): string {
  const value: unknown = JSON.parse(json);
  return JSON.stringify(inOrder(value));
}

/** With the members of all objects in order of their names; the value itself if they are already. */
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) value[index] = inOrder(value[index]);
    return value;
  }
  const members = value as Record<string, unknown>;
  const names = Object.keys(members);
  let isSorted = true;
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string;
    members[name] = inOrder(members[name]);
    if (index > 0 && name < (names[index - 1] as string)) isSorted = false;
  }
  if (isSorted) return members;
  return Object.fromEntries(names.sort().map((name) => [name, members[name]]));
}
