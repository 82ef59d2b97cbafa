// The checks of single values: ids, tags, statuses, messages. The tables of checks are in the kernel.
import { SynclineError } from '@syncline/kernel';
import type { Check } from '@syncline/kernel/checks';
import { checkInteger, checkText, checkThat, integer, isText } from '@syncline/kernel/checks';
import { type JobsLimitName, limitValues } from '../limits.js';

/** `count` includes what is to be added. */
export function checkRoom(limit: JobsLimitName, count: number, things: string, advice = ''): void {
  const max = limitValues[limit];
  if (count > max) throw limitExceeded(limit, `too many ${things}: ${max} is the limit${advice}`);
}

/** `bytes` may be a lower bound. */
export function checkBytes(limit: JobsLimitName, bytes: number, what: string, advice = ''): void {
  const max = limitValues[limit];
  if (bytes <= max) return;
  const message = `${what} has ${bytes} bytes or more; at most ${max} are allowed${advice}`;
  throw limitExceeded(limit, message);
}

export function limitExceeded(limit: JobsLimitName, message: string): SynclineError {
  return new SynclineError('limit-exceeded', message, { details: { limit } });
}

/** `waiting` says what fills the queue, and what to do. */
export function overloaded(limit: JobsLimitName, waiting: string): SynclineError {
  const message = `${limitValues[limit]} ${waiting}`;
  return new SynclineError('overloaded', message, { details: { limit } });
}

const UINT32_MAX = 4_294_967_295;

export const checkStatus = integer('status', -2_147_483_648, 2_147_483_647);
export const checkNumTasks = integer('numTasks', 1, limitValues.tasksPerJobMax);
export const checkEpoch = integer('epoch', 0, UINT32_MAX);
export const checkSchemaVersion = integer('schemaVersion', 0, UINT32_MAX);
export const checkCount = integer('count', 0, Number.MAX_SAFE_INTEGER);
export const checkBatchMax = integer('max', 1, Number.MAX_SAFE_INTEGER);

/** Without `numTasks`, whether the job has this task is checked later, when the job is loaded. */
export function checkTaskId(value: unknown, numTasks = limitValues.tasksPerJobMax): number {
  return checkInteger(value, 'taskId', { min: 0, max: numTasks - 1 });
}

/** 0: never expires. */
export function checkTtlMs(value: unknown, field = 'ttlMs'): number {
  if (value === 0) return 0;
  const { leaseTtlMinMs: min, leaseTtlMaxMs: max } = limitValues;
  return checkInteger(value, field, { min, max });
}

/** A limit above the page maximum is not an error: it is lowered to the maximum. */
export function checkPageLimit(value: unknown, most: number): number {
  return Math.min(checkInteger(value, 'limit', { min: 1, max: Number.MAX_SAFE_INTEGER }), most);
}

const JOB_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/;
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;
const CONTROL = /\p{Cc}/u;
/** Half of a surrogate pair: not a character, and has no UTF-8 encoding. */
const LONE_SURROGATE = /\p{Cs}/u;

const { jobIdLengthMax, eventIdLengthMax, tagBytesMax, holderLengthMax } = limitValues;
const JOB_ID_FORM = 'letters, digits or ._:- starting with a letter or digit';
const EVENT_ID_FORM = 'printable ASCII characters';
export const checkJobId = matching('jobId', JOB_ID, jobIdLengthMax, JOB_ID_FORM);
export const checkEventId = matching('eventId', PRINTABLE_ASCII, eventIdLengthMax, EVENT_ID_FORM);
export const checkTag = plainText('tag', 1, tagBytesMax);
/** Empty if the claimant does not identify itself. */
export const checkHolder = plainText('holder', 0, holderLengthMax);
/** Any string. The fence checks whether it is the job's incarnation. */
export const checkIncarnation = checkThat<string>(isText, 'what createJob returned', 'incarnation');

function matching(name: string, pattern: RegExp, lengthMax: number, form: string): Check<string> {
  const isGood = (value: unknown) =>
    isText(value) && value.length <= lengthMax && pattern.test(value);
  return checkThat(isGood, `1 to ${lengthMax} ${form}`, name);
}

function plainText(name: string, bytesMin: number, bytesMax: number): Check<string> {
  const isGood = (value: unknown) => {
    if (!isText(value) || value.length > bytesMax) return false;
    if (CONTROL.test(value) || LONE_SURROGATE.test(value)) return false;
    const bytes = Buffer.byteLength(value);
    return bytes >= bytesMin && bytes <= bytesMax;
  };
  const wanted = `${bytesMin} to ${bytesMax} bytes of UTF-8 without control characters`;
  return checkThat(isGood, wanted, name);
}

/** Returns the message as it will be stored: lone surrogates become U+FFFD, as they would on the wire. */
export function checkMessage(value: unknown): string {
  const text = checkText(value, 'message');
  const advice = '. Put details into the payload.';
  checkBytes('messageBytesMax', Buffer.byteLength(text), 'the message', advice);
  return LONE_SURROGATE.test(text) ? Buffer.from(text).toString() : text;
}

/** For messages taken from errors: truncated to the limit, with "…" at the end if it was truncated. */
export function cutMessage(text: string): string {
  const { messageBytesMax: bytesMax } = limitValues;
  const bytes = Buffer.from(text.slice(0, bytesMax + 1));
  if (bytes.length <= bytesMax) return bytes.toString();
  let end = bytesMax - Buffer.byteLength('…');
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1; // do not split a character
  return `${bytes.toString('utf8', 0, end)}…`;
}
