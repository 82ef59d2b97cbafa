// A validated state write. Writes are checked once, where they enter the process, and nothing downstream checks a
// CheckedWrite again. From here on, the payload is JSON text.
import { hash } from 'node:crypto';
import { type Durability, SynclineError } from '@syncline/kernel';
import * as check from '@syncline/kernel/checks';
import type { JsonObject, SchemaIssue } from '../job.js';
import type { StateWrite } from '../job-store.js';
import { limitValues } from '../limits.js';
import { parsePayload } from '../wire/messages.js';
import * as values from './values.js';

export type WriteFields = Omit<StateWrite, 'payload'> & Readonly<{ payloadJson?: string }>;

const CONTENT = {
  jobId: values.checkJobId,
  taskId: (value: unknown) => values.checkTaskId(value),
  tag: values.checkTag,
  status: values.checkStatus,
  message: values.checkMessage,
  progress: check.optional(check.number('progress', 0, 1)),
  schemaVersion: values.checkSchemaVersion,
  eventId: values.checkEventId,
  ifVersion: check.optional(values.checkCount),
  durability: check.optional(check.oneOf('synced', 'buffered')),
};
const CLAIM = { incarnation: values.checkIncarnation, epoch: values.checkEpoch };
const FIELDS: check.Checks<WriteFields> = { ...CONTENT, ...CLAIM, payloadJson: check.anyValue };

/** What the caller of a manager may set. A store also needs the claim of the task. */
export const CONTENT_KEYS = { ...CONTENT, payload: true };
const KNOWN: Readonly<Record<keyof StateWrite, unknown>> = { ...CONTENT_KEYS, ...CLAIM };

/** Approximate size of a queued write, excluding its message and payload. */
const WRITE_BYTES = 512;

export class CheckedWrite implements StateWrite {
  declare readonly jobId: string;
  declare readonly incarnation: string;
  declare readonly taskId: number;
  declare readonly epoch: number;
  declare readonly tag: string;
  declare readonly status: number;
  declare readonly message: string;
  declare readonly progress?: number;
  declare readonly schemaVersion: number;
  declare readonly eventId: string;
  declare readonly ifVersion?: number;
  declare readonly durability?: Durability;
  declare readonly payloadJson?: string;
  #digest: string | undefined;

  /** Checks everything but the payload. `canonical` is the payload's canonical JSON, if already computed. */
  constructor(fields: WriteFields, canonical?: string) {
    Object.assign(this, check.checkMembers(fields, 'the write', FIELDS));
    if (canonical !== undefined) this.#digest = contentDigest(this, canonical);
  }

  /** Distinguishes a retry from a different write with the same event id. The order of payload members is ignored. */
  get digest(): string {
    if (this.#digest !== undefined) return this.#digest;
    const { payload } = this;
    this.#digest = contentDigest(this, payload ? canonicalJson(payload) : '');
    return this.#digest;
  }

  /** For stores that keep objects. Parsed on each access. */
  get payload(): JsonObject | undefined {
    return this.payloadJson === undefined ? undefined : parsePayload(this.payloadJson);
  }

  get bytes(): number {
    const { message, payloadJson = '' } = this;
    return WRITE_BYTES + Buffer.byteLength(message) + Buffer.byteLength(payloadJson);
  }
}

/** If the write has already been checked, returns it unchanged. */
export function checkStateWrite(write: StateWrite): CheckedWrite {
  if (write instanceof CheckedWrite) return write;
  check.checkKnownKeys(write, 'the write', KNOWN);
  const { payload, ...fields } = write;
  if (payload === undefined) return new CheckedWrite(fields);
  return new CheckedWrite({ ...fields, payloadJson: checkPayload(payload) });
}

/** Checks a write received over the wire. Its payload is parsed once, here, but kept as the JSON text that was sent. */
export function checkWireWrite(fields: WriteFields): CheckedWrite {
  const { payloadJson } = fields;
  if (payloadJson === undefined) return new CheckedWrite(fields);
  refuseTooLarge(Buffer.byteLength(payloadJson));
  const payload = parsePayload(payloadJson);
  if (payload === undefined) throw payloadRefusal([{ message: 'is not a JSON object', path: [] }]);
  checkJson(payload);
  return new CheckedWrite(fields, canonicalJson(payload));
}

/** In base64url characters of 6 bits each. Eight digests are kept with every key, so they are short. */
const DIGEST_LENGTH = 22;

/** SHA-256 truncated to 132 bits, which is still resistant to deliberate collisions. */
function contentDigest(write: WriteFields, canonical: string): string {
  const { status, message, progress = null, schemaVersion } = write;
  const head = JSON.stringify([status, message, progress, schemaVersion]);
  return hash('sha256', head + canonical, 'base64url').slice(0, DIGEST_LENGTH);
}

/** Equal JSON values give the same text. */
function canonicalJson(payload: JsonObject): string {
  return JSON.stringify(check.withSortedMembers(payload));
}

/** The JSON of an object of bounded size and depth. */
export function checkPayload(value: unknown): string {
  if (!check.isPlainObject(value))
    throw payloadRefusal([{ message: `is ${check.kindOf(value)}, not an object`, path: [] }]);
  checkJson(value);
  const json = JSON.stringify(value);
  refuseTooLarge(Buffer.byteLength(json));
  return json;
}

export function payloadRefusal(issues: readonly SchemaIssue[]): SynclineError {
  const [first] = issues;
  const path = (first?.path ?? []).map((step) => (typeof step === 'object' ? step.key : step));
  const where = path.length === 0 ? '' : ` at ${path.map(String).join('.').slice(0, 128)}`;
  return new SynclineError('invalid-argument', `payload${where}: ${first?.message ?? 'refused'}`, {
    details: { field: 'payload', issues },
  });
}

function checkJson(payload: object): void {
  const { payloadBytesMax: bytesMax, payloadDepthMax: depthMax } = limitValues;
  const problem = check.findJsonProblem(payload, { bytesMax, depthMax });
  if (problem?.bytes !== undefined) refuseTooLarge(problem.bytes);
  if (problem) throw payloadRefusal([problem]);
}

function refuseTooLarge(bytes: number): void {
  const advice = '. Store it elsewhere and keep a reference here.';
  values.checkBytes('payloadBytesMax', bytes, 'the payload as JSON', advice);
}
