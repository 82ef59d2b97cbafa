// The wire messages for jobs, leases, scopes, states and progress.
import type { Durability } from '@syncline/kernel';
import { isPlainObject } from '@syncline/kernel/checks';
import * as wire from '@syncline/kernel/wire';
import * as jobs from '../job.js';
import type { GapReason, History, Overflow } from '../job-store.js';

export const leaseStates: readonly jobs.LeaseState[] = ['held', 'released', 'lost'];
export const leaseActions: readonly jobs.LeaseRequest['action'][] = ['claim', 'renew', 'release'];
export const gapReasons: readonly GapReason[] = ['overflow', 'compacted', 'reset', 'deleted'];
export const histories: readonly History[] = ['all', 'latest'];
export const overflows: readonly Overflow[] = ['block', 'coalesce', 'fail'];
export const durabilities: readonly Durability[] = ['buffered', 'synced'];
export const statusClasses: readonly jobs.StatusClass[] = [
  'not-started',
  'running',
  'finished',
  'warned',
  'failed',
];

// The State message has hand-written code, because it runs for every event of every subscription. It does not contain
// the job id, which the reader knows. The payload stays JSON text until it is delivered to user code.

/** A state as stores keep it. Its payload is JSON text, checked when it entered the process. */
export type StoredState = Omit<
  jobs.State,
  'payload' | 'payloadIssues' | 'rawPayload' | 'statusName'
> &
  Readonly<{ payloadJson?: string }>;

/** `read` leaves the job id empty, for the caller to fill in. */
export const stateMessage: wire.Message<StoredState> = {
  write(writer, state) {
    writer.uint(1, state.taskId);
    writer.text(2, state.tag);
    writer.sint(3, state.status);
    writer.text(4, state.message);
    writer.uint(5, state.timestampMs);
    writer.uint(6, state.version);
    writer.uint(7, state.revision);
    writer.text(8, state.eventId);
    if (state.payloadJson !== undefined) writer.presentText(9, state.payloadJson);
    writer.uint(10, state.schemaVersion);
    if (state.progress !== undefined) writer.presentDouble(11, state.progress);
  },
  read: (reader) => readStoredState(reader, ''),
};

export function readStoredState(reader: wire.WireReader, jobId: string): StoredState {
  const state: jobs.Mutable<StoredState> = jobs.defaultState(jobId, 0, '');
  const payloadJson = readFields(reader, state);
  if (payloadJson !== undefined) state.payloadJson = payloadJson;
  return state;
}

/** The same with the payload parsed, for user code. */
export function readState(reader: wire.WireReader, jobId: string): jobs.State {
  const state: jobs.Mutable<jobs.State> = jobs.defaultState(jobId, 0, '');
  const payloadJson = readFields(reader, state);
  if (payloadJson !== undefined)
    state.payload = parsePayload(payloadJson) ?? reader.fail('a payload is not a JSON object');
  return state;
}

/** Fills in everything but the payload, and returns that. */
function readFields(
  reader: wire.WireReader,
  state: jobs.Mutable<Omit<StoredState, 'payloadJson'>>,
): string | undefined {
  let payloadJson: string | undefined;
  state.schemaVersion = 0;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) state.taskId = reader.uint();
    else if (field === 2) state.tag = reader.text();
    else if (field === 3) state.status = reader.sint();
    else if (field === 4) state.message = reader.text();
    else if (field === 5) state.timestampMs = reader.uint();
    else if (field === 6) state.version = reader.uint();
    else if (field === 7) state.revision = reader.uint();
    else if (field === 8) state.eventId = reader.text();
    else if (field === 9) payloadJson = reader.text();
    else if (field === 10) state.schemaVersion = reader.uint();
    else if (field === 11) state.progress = reader.double();
    else reader.skip();
  }
  state.statusClass = jobs.statusClass(state.status);
  return payloadJson;
}

export function withPayload(stored: StoredState): jobs.State {
  const { payloadJson, ...state } = stored;
  if (payloadJson === undefined) return stored;
  const payload = parsePayload(payloadJson);
  if (payload === undefined) throw new TypeError('a stored payload is not a JSON object');
  return { ...state, payload };
}

/** Undefined if it is not a JSON object. */
export function parsePayload(json: string): jobs.JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isPlainObject(value) ? (value as jobs.JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

export const jobMessage = wire.message<jobs.JobInfo>({
  jobId: wire.text(1),
  incarnation: wire.text(2),
  numTasks: wire.uint(3),
  expectedTags: wire.texts(4),
  labels: wire.textMap(5),
  createdAtMs: wire.uint(6),
  deletedAtMs: wire.optionalUint(7),
  revision: wire.uint(8),
  changedAtMs: wire.uint(9),
});

export const leaseMessage = wire.message<jobs.TaskLease>({
  taskId: wire.uint(1),
  epoch: wire.uint(2),
  state: wire.requiredWord(3, leaseStates),
  ttlMs: wire.uint(4),
  expiresAtMs: wire.uint(5),
  holder: wire.text(6),
  revision: wire.uint(7),
});

const scopeMessage = wire.message<jobs.Scope>({
  taskId: wire.optionalUint(1),
  tag: wire.optionalText(2),
});

/** If omitted, the whole job. */
export function scope(number: number): wire.Field<jobs.Scope> {
  return { ...wire.nested(number, scopeMessage), absent: () => ({}) };
}

const countsMessage: wire.Message<jobs.Counts> = wire.mapped(
  wire.message<Omit<jobs.Counts, 'total'>>({
    notStarted: wire.uint(1),
    running: wire.uint(2),
    finished: wire.uint(3),
    warned: wire.uint(4),
    failed: wire.uint(5),
  }),
  (counts) => counts,
  (counts) => ({
    ...counts,
    total: counts.notStarted + counts.running + counts.finished + counts.warned + counts.failed,
  }),
);

const tagProgressMessage = wire.message<jobs.TagProgress<StoredState>>({
  tag: wire.text(1),
  cells: wire.required(2, countsMessage),
  lowest: wire.required(3, stateMessage),
  worst: wire.required(4, stateMessage),
  percent: wire.tenths(5),
});

export const progressMessage = wire.message<jobs.Progress<StoredState>>({
  revision: wire.uint(1),
  cells: wire.required(2, countsMessage),
  lostTasks: wire.uint(3),
  lowest: wire.required(4, stateMessage),
  worst: wire.required(5, stateMessage),
  tags: wire.list(6, tagProgressMessage),
  percent: wire.tenths(7),
});

export const summaryMessage = wire.message<jobs.JobSummary>({
  job: wire.required(1, jobMessage),
  cells: wire.required(2, countsMessage),
  lostTasks: wire.uint(3),
  percent: wire.tenths(4),
});
