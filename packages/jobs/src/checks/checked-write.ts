// A validated state write. Writes are checked once, where they enter the process, and nothing downstream checks a
// CheckedWrite again. From here on, the payload is JSON text.
import { hash } from 'node:crypto';
import { type Durability, SynclineError } from '@syncline/kernel';
import type { JsonObject, SchemaIssue } from '../job.js';
import type { StateWrite } from '../job-store.js';
import { limitValues } from '../limits.js';
import { parsePayload } from '../wire/messages.js';
import * as values from './values.js';

export const CONTENT_KEYS = {
  jobId: true,
  taskId: true,
  tag: true,
  status: true,
  message: true,
  progress: true,
  payload: true,
  schemaVersion: true,
  eventId: true,
  ifVersion: true,
  durability: true,
} as const;

const KNOWN: Readonly<Record<keyof StateWrite, true>> = {
  ...CONTENT_KEYS,
  incarnation: true,
  epoch: true,
};

export type WriteFields = Omit<StateWrite, 'payload'> & Readonly<{ payloadJson?: string }>;

const checkDurability = values.oneOf('synced', 'buffered');

/** Approximate size of a queued write, excluding its message and payload. */
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
  #digest: string | undefined;

  /** Checks everything but the payload. `canonical` is the payload's canonical JSON, if already computed. */
  constructor(fields: WriteFields, canonical?: string) {
    const { ifVersion, durability, progress, payloadJson } = fields;
    this.jobId = values.checkJobId(fields.jobId);
    this.incarnation = values.checkIncarnation(fields.incarnation);
    this.taskId = values.checkTaskId(fields.taskId);
    this.epoch = values.checkEpoch(fields.epoch);
    this.tag = values.checkTag(fields.tag);
    this.status = values.checkStatus(fields.status);
    this.message = values.checkMessage(fields.message);
    this.schemaVersion = values.checkSchemaVersion(fields.schemaVersion);
    this.eventId = values.checkEventId(fields.eventId);
    if (progress !== undefined) this.progress = values.checkProgress(progress);
    if (ifVersion !== undefined) this.ifVersion = values.checkCount(ifVersion, 'ifVersion');
    if (durability !== undefined) this.durability = checkDurability(durability, 'durability');
    if (payloadJson !== undefined) this.payloadJson = payloadJson;
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

/** Returns a write that was already checked unchanged. */
export function checkStateWrite(write: StateWrite): CheckedWrite {
  if (write instanceof CheckedWrite) return write;
  values.checkKnownKeys(write, 'the write', KNOWN);
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

/** Equal JSON values give the same text: the members of every object are sorted by name. */
function canonicalJson(payload: JsonObject): string {
  return JSON.stringify(inOrder(payload));
}

function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member)]));
}

/**
 * The JSON of an object of bounded size and depth. It is walked and its size counted before anything is serialized, so a
 * cyclic value, or one that is referenced many times, is rejected before it can exhaust memory.
 */
export function checkPayload(value: unknown): string {
  if (!isPlainObject(value))
    throw payloadRefusal([{ message: `is ${kindOf(value)}, not an object`, path: [] }]);
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
  /** The objects on the path to the current one, and the member names that lead there. */
  const open = new Set<object>();
  const path: PropertyKey[] = [];
  const { payloadDepthMax: depthMax } = limitValues;
  let bytes = 0;

  const count = (more: number): void => {
    bytes += more;
    refuseTooLarge(bytes);
  };
  const refuse = (message: string): never => {
    throw payloadRefusal([{ message, path: [...path] }]);
  };
  const visitMember = (name: PropertyKey, value: unknown): void => {
    path.push(name);
    visit(value);
    path.pop();
  };
  const visitInside = (value: object): void => {
    if (open.has(value)) refuse('contains itself');
    if (open.size === depthMax) refuse(`is nested more than ${depthMax} levels deep`);
    open.add(value);
    count(2);
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) visitMember(index, value[index]);
    } else if (isPlainObject(value)) {
      for (const name of Object.keys(value)) {
        if (value[name] === undefined) continue;
        count(name.length + 3);
        visitMember(name, value[name]);
      }
    } else refuse(`is ${kindOf(value)}, which JSON cannot hold`);
    open.delete(value);
  };
  const visit = (value: unknown): void => {
    if (typeof value === 'string') count(value.length + 2);
    else if (typeof value === 'boolean' || value === null) count(4);
    else if (typeof value === 'object') visitInside(value);
    else if (typeof value !== 'number') refuse(`is ${kindOf(value)}, which JSON cannot hold`);
    else if (!Number.isFinite(value)) refuse(`is ${value}, not a finite number`);
    else count(1);
  };
  visit(payload);
}

function refuseTooLarge(bytes: number): void {
  const { payloadBytesMax: bytesMax } = limitValues;
  if (bytes <= bytesMax) return;
  const message = `the payload has ${bytes} bytes or more as JSON; at most ${bytesMax} are allowed. Store it elsewhere and keep a reference here.`;
  throw values.limitExceeded('payloadBytesMax', message);
}

/** A Date, a Map or a class instance would not survive a round trip through JSON. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain && typeof Reflect.get(value, 'toJSON') !== 'function';
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return name === 'Object' ? 'an instance of a class' : `a ${name}`;
}
