// A State between memory and the wire: straight code, because it runs for every event of every subscription. The
// job is not in it: whoever asks knows which one.
import type { JsonObject, State } from '../state.js';
import { statusClass } from '../status.js';
import type { Message } from './proto-message.js';
import type { ProtoReader } from './proto-reader.js';
import type { ProtoWriter } from './proto-writer.js';

export const stateMessage: Message<State> = { write: writeState, read: readState };

export function writeState(writer: ProtoWriter, state: State): void {
  writer.uint(1, state.taskId);
  writer.text(2, state.tag);
  writer.sint(3, state.status);
  writer.text(4, state.message);
  writer.uint(5, state.timestampMs);
  writer.uint(6, state.version);
  writer.uint(7, state.revision);
  writer.text(8, state.eventId);
  if (state.payload !== undefined) writer.presentText(9, JSON.stringify(state.payload));
  writer.uint(10, state.schemaVersion);
}

export function readState(reader: ProtoReader): State {
  let taskId = 0;
  let tag = '';
  let status = 0;
  let message = '';
  let timestampMs = 0;
  let version = 0;
  let revision = 0;
  let eventId = '';
  let payload: JsonObject | undefined;
  let schemaVersion = 0;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) taskId = reader.uint();
    else if (field === 2) tag = reader.text();
    else if (field === 3) status = reader.sint();
    else if (field === 4) message = reader.text();
    else if (field === 5) timestampMs = reader.uint();
    else if (field === 6) version = reader.uint();
    else if (field === 7) revision = reader.uint();
    else if (field === 8) eventId = reader.text();
    else if (field === 9)
      payload = parsePayload(reader.text()) ?? reader.fail('a payload is no JSON object');
    else if (field === 10) schemaVersion = reader.uint();
    else reader.skip();
  }
  return {
    jobId: reader.jobId,
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

/** Undefined for what is no JSON object. */
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
