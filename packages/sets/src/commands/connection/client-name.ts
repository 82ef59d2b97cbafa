// Names that clients give themselves are shown in lines of words, so they hold no blank and no control byte.
import { setsLimits } from '../../limits.js';
import { errorTexts } from '../errors.js';

const PRINTABLE = /^[!-~]*$/;
const bytesMax = setsLimits.clientNameBytesMax.value;

/** Why this cannot be a name; undefined if it can. `invalid` is the text for bytes that are not allowed. */
export function clientNameFlaw(
  name: string,
  invalid: string = errorTexts.clientNameInvalid,
): string | undefined {
  if (name.length > bytesMax) return errorTexts.clientNameTooLong;
  return PRINTABLE.test(name) ? undefined : invalid;
}
