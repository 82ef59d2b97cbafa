// A State between memory and the wire: straight code, because it runs for every event of every subscription. The
// message does not name the job: the reader knows it. The payload stays JSON text until a program asks for it.
import type { JsonObject, State } from '../state.js';
import { statusClass } from '../status.js';
import type { Message } from './proto-message.js';
import type { ProtoReader } from './proto-reader.js';
import type { ProtoWriter } from './proto-writer.js';

/** A state as stores keep it: its payload is JSON text that was checked when it entered the process. */
export type StoredState = Omit<State, 'payload' | 'payloadIssues' | 'rawPayload' | 'statusName'> &
  Readonly<{ payloadJson?: string }>;

export const stateMessage: Message<StoredState> = { write: writeState, read: readStoredState };

function writeState(writer: ProtoWriter, state: StoredState): void {
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
  if (state.progress !== undefined) writer.double(11, state.progress);
}

export function readStoredState(reader: ProtoReader): StoredState {
  let taskId = 0;
  let tag = '';
  let status = 0;
  let message = '';
  let timestampMs = 0;
  let version = 0;
  let revision = 0;
  let eventId = '';
  let payloadJson: string | undefined;
  let schemaVersion = 0;
  let progress: number | undefined;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) taskId = reader.uint();
    else if (field === 2) tag = reader.text();
    else if (field === 3) status = reader.sint();
    else if (field === 4) message = reader.text();
    else if (field === 5) timestampMs = reader.uint();
    else if (field === 6) version = reader.uint();
    else if (field === 7) revision = reader.uint();
    else if (field === 8) eventId = reader.text();
    else if (field === 9) payloadJson = reader.text();
    else if (field === 10) schemaVersion = reader.uint();
    else if (field === 11) progress = reader.double();
    else reader.skip();
  }
  return {
    jobId: reader.jobId,
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

/** With the payload parsed. `reader` says what is wrong with bytes of another process. */
export function withPayload(stored: StoredState, reader?: ProtoReader): State {
  const { payloadJson, ...state } = stored;
  if (payloadJson === undefined) return state;
  const payload = parsePayload(payloadJson);
  if (payload === undefined) {
    if (reader) return reader.fail('a payload is not a JSON object');
    throw new TypeError('a stored payload is not a JSON object');
  }
  return { ...state, payload };
}

export function withPayloadJson(state: State): StoredState {
  const { payload, payloadIssues: _, rawPayload: __, statusName: ___, ...stored } = state;
  return payload === undefined ? stored : { ...stored, payloadJson: JSON.stringify(payload) };
}

/** Undefined for what is not a JSON object. */
export function parsePayload(json: string): JsonObject | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as JsonObject) : undefined;
}
