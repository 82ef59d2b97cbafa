// Names and texts: job ids, tags, event ids, holders, messages.
import { jobsLimits } from '../limits.js';
import { limitExceeded, refuseUnless } from './refuse.js';

const JOB_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/;
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;
const CONTROL = /\p{Cc}/u;
/** Half of a pair: not a character, and without a UTF-8 form. */
const LONE_SURROGATE = /\p{Cs}/u;

export function checkJobId(value: unknown, field = 'jobId'): string {
  const { value: lengthMax } = jobsLimits.jobIdLengthMax;
  refuseUnless(
    typeof value === 'string' && value.length <= lengthMax && JOB_ID.test(value),
    field,
    {
      value,
      wanted: `1 to ${lengthMax} of letters, digits and ._:- with a letter or digit first`,
    },
  );
  return value;
}

export function checkTag(value: unknown, field = 'tag'): string {
  const { value: bytesMax } = jobsLimits.tagBytesMax;
  const isTag =
    typeof value === 'string' &&
    value.length <= bytesMax &&
    isPlainText(value) &&
    isWithin(Buffer.byteLength(value), 1, bytesMax);
  refuseUnless(isTag, field, {
    value,
    wanted: `1 to ${bytesMax} bytes of UTF-8 without control characters`,
  });
  return value;
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

/** Empty: the claimant does not say who it is. */
export function checkHolder(value: unknown): string {
  const { value: bytesMax } = jobsLimits.holderLengthMax;
  const isHolder =
    typeof value === 'string' &&
    value.length <= bytesMax &&
    isPlainText(value) &&
    Buffer.byteLength(value) <= bytesMax;
  refuseUnless(isHolder, 'holder', {
    value,
    wanted: `at most ${bytesMax} bytes of UTF-8 without control characters`,
  });
  return value;
}

/** As it will be stored: what has no UTF-8 form becomes U+FFFD here, as it would on the wire. */
export function checkMessage(value: unknown): string {
  refuseUnless(typeof value === 'string', 'message', { value, wanted: 'a text' });
  const { value: bytesMax } = jobsLimits.messageBytesMax;
  const bytes = value.length > bytesMax ? value.length : Buffer.byteLength(value);
  if (bytes > bytesMax) {
    const story = `a message of ${bytes} bytes or more; ${bytesMax} is the limit. Put details into the payload.`;
    throw limitExceeded('messageBytesMax', story);
  }
  return LONE_SURROGATE.test(value) ? Buffer.from(value).toString() : value;
}

/** For messages that come from errors: cut to the limit, with «…» where it was cut. */
export function cutMessage(text: string): string {
  const { value: bytesMax } = jobsLimits.messageBytesMax;
  const bytes = Buffer.from(text.slice(0, bytesMax + 1));
  if (bytes.length <= bytesMax) return bytes.toString();
  const ellipsis = '…';
  let end = bytesMax - Buffer.byteLength(ellipsis);
  while (isContinuation(bytes[end])) end -= 1; // never inside a character
  return bytes.toString('utf8', 0, end) + ellipsis;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function isPlainText(value: string): boolean {
  return !CONTROL.test(value) && !LONE_SURROGATE.test(value);
}

function isWithin(count: number, least: number, most: number): boolean {
  return count >= least && count <= most;
}
