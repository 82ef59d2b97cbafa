// The documents of a task: its epoch and the last transition of its lease, and beside it the last renewal.
//
// J13  The epoch is in the document that every write of the task reads in its transaction.
import { type DocumentSnapshot, FieldValue } from '@google-cloud/firestore';
import type { JobChange, TaskRow } from '../core/rows.js';
import { leaseOf } from '../core/views.js';
import type { LeaseState } from '../job.js';
import { DocumentFields } from './document-fields.js';

export type TaskRecord = Readonly<{
  task: TaskRow;
  incarnation: string;
  /** It has written a state. */
  hasWritten: boolean;
  /** Of the last transition. Undefined: it comes with the commit that is being made. */
  timestampMs: number | undefined;
}>;

export type RenewalRecord = Readonly<{ epoch: number; ttlMs: number; renewedAtMs: number }>;

type Fields = Readonly<Record<string, unknown>>;

const LEASE_STATES: readonly LeaseState[] = ['held', 'released', 'lost'];

export function readTaskDocument(snapshot: DocumentSnapshot): TaskRecord | undefined {
  const fields = DocumentFields.of(snapshot);
  if (!fields) return undefined;
  const stored = fields.text('lease');
  return {
    incarnation: fields.text('incarnation'),
    hasWritten: fields.flag('hasWritten'),
    timestampMs: fields.timestampMs('timestamp'),
    task: {
      taskId: fields.number('taskID'),
      epoch: fields.number('epoch'),
      state: LEASE_STATES.find((state) => state === stored) ?? 'released',
      ttlMs: fields.number('ttlMs'),
      holder: fields.text('holder'),
      revision: fields.number('revision'),
    },
  };
}

export function taskFields({ task, incarnation, hasWritten, timestampMs }: TaskRecord): Fields {
  const { taskId, epoch, state, ttlMs, holder, revision } = task;
  return {
    taskID: taskId,
    tag: '',
    epoch,
    lease: state,
    ttlMs,
    holder,
    revision,
    incarnation,
    hasWritten,
    timestamp: timestampMs === undefined ? FieldValue.serverTimestamp() : new Date(timestampMs),
  };
}

export function leaseChange(task: TaskRow, timestampMs: number): JobChange {
  const { revision } = task;
  return { kind: 'lease', revision, timestampMs, lease: leaseOf(task, timestampMs) };
}

/** Undefined: nobody has to renew. */
export function readRenewalDocument(snapshot: DocumentSnapshot): RenewalRecord | undefined {
  const fields = DocumentFields.of(snapshot);
  const renewedAtMs = fields?.optionalTimestampMs('renewedAt');
  if (!fields || renewedAtMs === undefined) return undefined;
  return { epoch: fields.number('epoch'), ttlMs: fields.number('ttlMs'), renewedAtMs };
}

/** Whether it is lost unless it is renewed. */
export function mustRenew({ state, ttlMs }: TaskRow): boolean {
  return state === 'held' && ttlMs > 0;
}

/** Renewed at the moment of the commit; or nobody has to, and no search for old renewals finds it again. */
export function renewalFields(task: TaskRow): Fields {
  const { taskId, epoch, ttlMs } = task;
  const renewedAt = mustRenew(task) ? FieldValue.serverTimestamp() : null;
  return { taskID: taskId, epoch, ttlMs, renewedAt };
}
