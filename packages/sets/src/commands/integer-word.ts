// A word of a command as a whole number, as strict as Redis: no blanks, no plus, no leading zeros, 64 bits.
import type { ByteList } from '../byte-list.js';

const INTEGER = /^(?:0|-?[1-9][0-9]{0,18})$/;
const DIGITS_OF_MAX = '9223372036854775807';
const DIGITS_OF_MIN = '9223372036854775808';

/** Undefined if it is none. Beyond 2^53 the nearest number that a double can hold. */
export function integerWord(args: ByteList, index: number): number | undefined {
  if (args.sizeOf(index) > DIGITS_OF_MIN.length + 1) return undefined;
  const text = args.text(index);
  if (!INTEGER.test(text)) return undefined;
  const isNegative = text.startsWith('-');
  const digits = isNegative ? text.slice(1) : text;
  const limit = isNegative ? DIGITS_OF_MIN : DIGITS_OF_MAX;
  // Of numbers with as many digits the larger one is also the later one as text.
  if (digits.length === limit.length && digits > limit) return undefined;
  return Number(text);
}
