// Reading the words of a command as Redis reads them: integers, option names, and the lengths of members.
import type { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import type { Reply } from '../resp/reply-writer.js';
import { errorTexts } from './errors.js';

const memberBytesMax = setsLimits.memberBytesMax.value;

const INTEGER = /^(?:0|-?[1-9][0-9]{0,18})$/;
const DIGITS_OF_MAX = '9223372036854775807';
const DIGITS_OF_MIN = '9223372036854775808';

/**
 * A signed 64-bit integer without spaces, plus sign or leading zeros; undefined for anything else. Beyond 2^53 it
 * is the nearest number that a double can hold.
 */
export function integerWord(args: ByteList, index: number): number | undefined {
  if (args.sizeOf(index) > DIGITS_OF_MIN.length + 1) return undefined;
  const text = args.text(index);
  if (!INTEGER.test(text)) return undefined;
  const isNegative = text.startsWith('-');
  const digits = isNegative ? text.slice(1) : text;
  const limit = isNegative ? DIGITS_OF_MIN : DIGITS_OF_MAX;
  // Numbers with the same number of digits compare like their texts.
  if (digits.length === limit.length && digits > limit) return undefined;
  return Number(text);
}

/** Whether a word is this option, in any case. Like a C string, a word ends at a null byte. */
export function isOption(args: ByteList, index: number, lowerCaseOption: string): boolean {
  const { length } = lowerCaseOption;
  const size = args.sizeOf(index);
  if (size < length) return false;
  const text = args.text(index);
  if (size > length && text.charCodeAt(length) !== 0) return false;
  return text.slice(0, length).toLowerCase() === lowerCaseOption;
}

/** True when one of the members from `from` on is too long; the error is then the reply. */
export function refusesMembers(args: ByteList, reply: Reply, from: number): boolean {
  for (let index = from; index < args.length; index += 1) {
    if (args.sizeOf(index) <= memberBytesMax) continue;
    reply.error(errorTexts.memberTooLong);
    return true;
  }
  return false;
}

/** Reads treat a member that is too long as absent. */
export function isMemberTooLong(args: ByteList, index: number): boolean {
  return args.sizeOf(index) > memberBytesMax;
}
