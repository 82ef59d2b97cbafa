// One committed change, encoded once. The same bytes go to disk, to the wire and to subscribers.
//
// `bytes` is the protobuf message State, Lease or Job of the contract (proto/syncline/jobs/v1/jobs.proto). It names
// neither the job nor its incarnation: the reader knows both. Payloads stay JSON text; they are parsed only when an
// event is handed to a program.
import type { JobChange } from '../core/rows.js';
import type { JobInfo, TaskLease } from '../job.js';
import type { State } from '../state.js';
import { jobMessage, leaseMessage } from '../wire/job-messages.js';
import { decode, encode } from '../wire/proto-message.js';
import { ProtoReader } from '../wire/proto-reader.js';
import {
  readStoredState,
  type StoredState,
  stateMessage,
  withPayload,
  withPayloadJson,
} from '../wire/state-message.js';

export type ChangeKind = 'state' | 'lease' | 'job';

export interface StoredChange {
  readonly kind: ChangeKind;
  readonly revision: number;
  readonly timestampMs: number;
  /** 0 for metadata. */
  readonly taskId: number;
  /** Empty unless it is a state. */
  readonly tag: string;
  readonly bytes: Uint8Array;
}

export function encodeState(state: StoredState): Uint8Array {
  return encode(stateMessage, state);
}

export function stateChange(state: StoredState): StoredChange {
  const { revision, timestampMs, taskId, tag } = state;
  return { kind: 'state', revision, timestampMs, taskId, tag, bytes: encodeState(state) };
}

export function leaseChange(lease: TaskLease, timestampMs: number): StoredChange {
  const { revision, taskId } = lease;
  const bytes = encode(leaseMessage, lease);
  return { kind: 'lease', revision, timestampMs, taskId, tag: '', bytes };
}

export function jobChange(job: JobInfo): StoredChange {
  const { revision, changedAtMs: timestampMs } = job;
  return { kind: 'job', revision, timestampMs, taskId: 0, tag: '', bytes: encode(jobMessage, job) };
}

/** Of a change in the form that programs see. */
export function encodeChange(change: JobChange): StoredChange {
  switch (change.kind) {
    case 'state':
      return stateChange(withPayloadJson(change.state));
    case 'lease':
      return leaseChange(change.lease, change.timestampMs);
    case 'job':
      return jobChange(change.job);
  }
}

/** The payload stays text. */
export function decodeStoredState(bytes: Uint8Array, jobId: string): StoredState {
  return readStoredState(new ProtoReader('State', bytes, jobId));
}

export function decodeState(bytes: Uint8Array, jobId: string): State {
  return withPayload(decodeStoredState(bytes, jobId));
}

export function decodeLease({ bytes }: StoredChange): TaskLease {
  return decode(leaseMessage, bytes, { name: 'Lease' });
}

export function decodeJob({ bytes }: StoredChange): JobInfo {
  return decode(jobMessage, bytes, { name: 'Job' });
}

/** The task and tag of a change, read from the start of its message. */
export function subjectOf(
  kind: ChangeKind,
  bytes: Uint8Array,
): { readonly taskId: number; readonly tag: string } {
  const reader = new ProtoReader('change', bytes);
  let taskId = 0;
  if (kind === 'job') return { taskId, tag: '' };
  for (let field = reader.field(); field === 1 || field === 2; field = reader.field()) {
    if (field === 1) taskId = reader.uint();
    else return { taskId, tag: kind === 'state' ? reader.text() : '' };
  }
  return { taskId, tag: '' };
}
