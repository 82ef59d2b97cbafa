// A write of a state that has passed its checks. It is checked once, where it enters the process: whoever receives one
// of these takes it as it is. Its payload is JSON text from here on.
import type { Durability } from '@syncline/kernel';
import type { StateWrite } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { JsonObject } from '../state.js';
import { parsePayload } from '../wire/state-message.js';
import { checkKnownKeys, type KnownKeys } from './known-keys.js';
import {
  checkCount,
  checkEpoch,
  checkProgress,
  checkSchemaVersion,
  checkStatus,
  checkTaskId,
} from './numbers.js';
import { checkPayload, payloadRefusal, refuseTooLarge } from './payload.js';
import { refuseUnless } from './refuse.js';
import { checkEventId, checkJobId, checkMessage, checkTag } from './text.js';

const KNOWN: KnownKeys<StateWrite> = {
  jobId: true,
  incarnation: true,
  taskId: true,
  epoch: true,
  tag: true,
  status: true,
  message: true,
  progress: true,
  payload: true,
  schemaVersion: true,
  eventId: true,
  ifVersion: true,
  durability: true,
};

/** What a write holds, with its payload as text. */
export type WriteFields = Omit<StateWrite, 'payload'> & Readonly<{ payloadJson?: string }>;

/** What a write takes in a queue besides its texts, about. */
const WRITE_BYTES = 512;

export class CheckedWrite implements StateWrite {
  readonly jobId: string;
  readonly incarnation: string;
  readonly taskId: number;
  readonly epoch: number;
  readonly tag: string;
  readonly status: number;
  readonly message: string;
  declare readonly progress?: number;
  readonly schemaVersion: number;
  readonly eventId: string;
  declare readonly ifVersion?: number;
  declare readonly durability?: Durability;
  declare readonly payloadJson?: string;

  /** Checks everything but the payload. */
  constructor(fields: WriteFields) {
    const { ifVersion, durability, progress, payloadJson } = fields;
    const isDurability =
      durability === undefined || durability === 'synced' || durability === 'buffered';
    refuseUnless(isDurability, 'durability', {
      value: durability,
      wanted: "'synced' or 'buffered'",
    });
    this.jobId = checkJobId(fields.jobId);
    this.incarnation = checkIncarnation(fields.incarnation);
    this.taskId = checkTaskId(fields.taskId);
    this.epoch = checkEpoch(fields.epoch);
    this.tag = checkTag(fields.tag);
    this.status = checkStatus(fields.status);
    this.message = checkMessage(fields.message);
    this.schemaVersion = checkSchemaVersion(fields.schemaVersion);
    this.eventId = checkEventId(fields.eventId);
    if (progress !== undefined) this.progress = checkProgress(progress);
    if (ifVersion !== undefined) this.ifVersion = checkCount(ifVersion, 'ifVersion');
    if (durability !== undefined) this.durability = durability;
    if (payloadJson !== undefined) this.payloadJson = payloadJson;
  }

  /** For stores that keep objects. Parsed at each call. */
  get payload(): JsonObject | undefined {
    return this.payloadJson === undefined ? undefined : parsePayload(this.payloadJson);
  }

  /** Memory that it takes while it waits, about. */
  get bytes(): number {
    const { message, payloadJson = '' } = this;
    return WRITE_BYTES + Buffer.byteLength(message) + Buffer.byteLength(payloadJson);
  }
}

/** Returns what was checked already as it is. */
export function checkStateWrite(write: StateWrite): CheckedWrite {
  if (write instanceof CheckedWrite) return write;
  checkKnownKeys(write, 'the write', KNOWN);
  const { payload, ...fields } = write;
  if (payload === undefined) return new CheckedWrite(fields);
  return new CheckedWrite({ ...fields, payloadJson: checkPayload(payload) });
}

/** As it came over a wire, with its payload as JSON text. */
export function checkWireWrite(fields: WriteFields): CheckedWrite {
  if (fields.payloadJson !== undefined) checkPayloadText(fields.payloadJson);
  return new CheckedWrite(fields);
}

/** A number that may be too large to be finite, or a text that looks like one. */
const MAYBE_INFINITE = /[eE]\+?\d{3}|\d{300}/;

/** A JSON object within its limits. The text stays as it was sent. */
function checkPayloadText(json: string): void {
  refuseTooLarge(Buffer.byteLength(json));
  const payload = parsePayload(json);
  if (payload === undefined) throw payloadRefusal([{ message: 'is not a JSON object', path: [] }]);
  if (MAYBE_INFINITE.test(json)) checkPayload(payload);
  const { value: depthMax } = jobsLimits.payloadDepthMax;
  if (depthOf(json) > depthMax)
    throw payloadRefusal([
      { message: `is more than ${depthMax} objects and lists deep`, path: [] },
    ]);
}

/** Of valid JSON: the most brackets open at once, those inside strings left out. */
function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < json.length; at += 1) {
    const unit = json.charCodeAt(at);
    if (unit === 0x22) at = stringEnd(json, at);
    else if (unit === 0x7b || unit === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (unit === 0x7d || unit === 0x5d) depth -= 1;
  }
  return deepest;
}

function stringEnd(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); ; at = json.indexOf('"', at + 1)) {
    let escapes = 0;
    while (json.charCodeAt(at - 1 - escapes) === 0x5c) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
}

/** Any text: whether it is the job's is the fence's question. */
export function checkIncarnation(value: unknown): string {
  refuseUnless(typeof value === 'string', 'incarnation', {
    value,
    wanted: 'what createJob returned',
  });
  return value;
}
