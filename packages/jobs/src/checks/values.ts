// Rejects bad input with an error that shows the value, truncated, and what was expected.
import { SynclineError } from '@syncline/kernel';
import { type JobsLimitName, jobsLimits } from '../limits.js';

const SHOWN_LENGTH_MAX = 64;

export function invalidArgument(field: string, value: unknown, wanted: string): SynclineError {
  return new SynclineError('invalid-argument', `${field} is ${shown(value)}; expected ${wanted}`, {
    details: { field },
  });
}

export function refuseUnless(
  condition: boolean,
  field: string,
  { value, wanted }: { readonly value: unknown; readonly wanted: string },
): asserts condition {
  if (!condition) throw invalidArgument(field, value, wanted);
}

/** For arguments with named members, such as a scope, labels or buffer sizes. */
export function checkObject(value: unknown, field: string): object {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  refuseUnless(isObject, field, { value, wanted: 'an object' });
  return value;
}

/** The keys of a type. A record, so that the compiler reports a missing one. */
export type KnownKeys<T> = Readonly<Record<keyof T, true>>;

/**
 * Rejects unknown keys: `ttl` instead of `ttlMs` must not silently leave the default in place. The compiler reports
 * them only in object literals, and never in JavaScript. `what` names the object in the error.
 */
export function checkKnownKeys<T extends object>(
  value: T,
  what: string,
  known: KnownKeys<T>,
): void {
  for (const key of Object.keys(checkObject(value, what))) {
    if (Object.hasOwn(known, key)) continue;
    throw new SynclineError(
      'invalid-argument',
      `unknown option ${shown(key)} in ${what}; expected one of: ${Object.keys(known).join(', ')}`,
      { details: { field: key.slice(0, SHOWN_LENGTH_MAX) } },
    );
  }
}

export function limitExceeded(limit: JobsLimitName, message: string): SynclineError {
  return new SynclineError('limit-exceeded', message, { details: { limit } });
}

/** Formats a value for an error message: short, on one line, and never throws. */
function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return cut(JSON.stringify(value.slice(0, SHOWN_LENGTH_MAX + 1)));
    case 'number':
    case 'boolean':
    case 'undefined':
    case 'bigint':
      return cut(String(value));
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? `a list of ${value.length}` : 'an object';
    default:
      return `a ${typeof value}`;
  }
}

function cut(text: string): string {
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`;
}

// Numbers: statuses, tasks, epochs, versions, revisions, TTLs, buffer and page sizes.

const UINT32_MAX = 4_294_967_295;

export function checkInteger(
  value: unknown,
  field: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const isGood = Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
  refuseUnless(isGood, field, { value, wanted: `an integer from ${min} to ${max}` });
  return (value as number) + 0; // −0 is 0
}

export function checkStatus(value: unknown): number {
  return checkInteger(value, 'status', { min: -2_147_483_648, max: 2_147_483_647 });
}

/** Without `numTasks`, whether the job has this task is checked later, when the job is loaded. */
export function checkTaskId(value: unknown, numTasks?: number): number {
  return checkInteger(value, 'taskId', {
    min: 0,
    max: (numTasks ?? jobsLimits.tasksPerJobMax.value) - 1,
  });
}

export function checkNumTasks(value: unknown): number {
  return checkInteger(value, 'numTasks', { min: 1, max: jobsLimits.tasksPerJobMax.value });
}

export function checkEpoch(value: unknown): number {
  return checkInteger(value, 'epoch', { min: 0, max: UINT32_MAX });
}

export function checkSchemaVersion(value: unknown): number {
  return checkInteger(value, 'schemaVersion', { min: 0, max: UINT32_MAX });
}

export function checkProgress(value: unknown): number {
  const isGood = typeof value === 'number' && value >= 0 && value <= 1;
  refuseUnless(isGood, 'progress', { value, wanted: 'a number from 0 to 1' });
  return value + 0; // −0 is 0
}

export function checkCount(value: unknown, field: string): number {
  return checkInteger(value, field, { min: 0, max: Number.MAX_SAFE_INTEGER });
}

/** 0: never expires. */
export function checkTtlMs(value: unknown): number {
  if (value === 0) return 0;
  const { leaseTtlMinMs, leaseTtlMaxMs } = jobsLimits;
  return checkInteger(value, 'ttlMs', { min: leaseTtlMinMs.value, max: leaseTtlMaxMs.value });
}

export function checkBatchMax(value: unknown): number {
  return checkInteger(value, 'max', { min: 1, max: Number.MAX_SAFE_INTEGER });
}

/** A limit above the page maximum is not an error: it is lowered to the maximum. */
export function checkPageLimit(value: unknown, most: number): number {
  return Math.min(checkInteger(value, 'limit', { min: 1, max: Number.MAX_SAFE_INTEGER }), most);
}

// Names and strings: job ids, tags, event ids, holders, messages.

const JOB_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/;
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;
const CONTROL = /\p{Cc}/u;
/** Half of a surrogate pair: not a character, and has no UTF-8 encoding. */
const LONE_SURROGATE = /\p{Cs}/u;

export function checkJobId(value: unknown, field = 'jobId'): string {
  const { value: lengthMax } = jobsLimits.jobIdLengthMax;
  refuseUnless(
    typeof value === 'string' && value.length <= lengthMax && JOB_ID.test(value),
    field,
    {
      value,
      wanted: `1 to ${lengthMax} letters, digits or ._:- starting with a letter or digit`,
    },
  );
  return value;
}

export function checkTag(value: unknown, field = 'tag'): string {
  return checkPlainText(value, field, { min: 1, max: jobsLimits.tagBytesMax.value });
}

export function checkEventId(value: unknown): string {
  const { value: lengthMax } = jobsLimits.eventIdLengthMax;
  const isEventId =
    typeof value === 'string' && value.length <= lengthMax && PRINTABLE_ASCII.test(value);
  refuseUnless(isEventId, 'eventId', {
    value,
    wanted: `1 to ${lengthMax} printable ASCII characters`,
  });
  return value;
}

/** Empty if the claimant does not identify itself. */
export function checkHolder(value: unknown): string {
  return checkPlainText(value, 'holder', { min: 0, max: jobsLimits.holderLengthMax.value });
}

/** The bounds are in bytes. */
function checkPlainText(
  value: unknown,
  field: string,
  { min, max }: { readonly min: number; readonly max: number },
): string {
  const bytes = typeof value === 'string' && value.length <= max ? Buffer.byteLength(value) : -1;
  const isGood = typeof value === 'string' && bytes >= min && bytes <= max && isPlainText(value);
  const wanted = `${min} to ${max} bytes of UTF-8 without control characters`;
  refuseUnless(isGood, field, { value, wanted });
  return value;
}

/** Returns the message as it will be stored: lone surrogates become U+FFFD, as they would on the wire. */
export function checkMessage(value: unknown): string {
  refuseUnless(typeof value === 'string', 'message', { value, wanted: 'a string' });
  const { value: bytesMax } = jobsLimits.messageBytesMax;
  const bytes = value.length > bytesMax ? value.length : Buffer.byteLength(value);
  if (bytes > bytesMax) {
    const message = `the message has ${bytes} bytes or more; at most ${bytesMax} are allowed. Put details into the payload.`;
    throw limitExceeded('messageBytesMax', message);
  }
  return LONE_SURROGATE.test(value) ? Buffer.from(value).toString() : value;
}

/** For messages taken from errors: truncated to the limit, with "…" at the end if it was truncated. */
export function cutMessage(text: string): string {
  const { value: bytesMax } = jobsLimits.messageBytesMax;
  const bytes = Buffer.from(text.slice(0, bytesMax + 1));
  if (bytes.length <= bytesMax) return bytes.toString();
  const ellipsis = '…';
  let end = bytesMax - Buffer.byteLength(ellipsis);
  while (isContinuation(bytes[end])) end -= 1; // do not split a character
  return bytes.toString('utf8', 0, end) + ellipsis;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function isPlainText(value: string): boolean {
  return !CONTROL.test(value) && !LONE_SURROGATE.test(value);
}
