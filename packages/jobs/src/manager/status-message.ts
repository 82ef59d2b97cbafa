// The messages of the helpers: an emoji first, so that a person sees the kind of a state at a glance, and
// whatever was thrown as text that fits.
import { cutMessage } from '../checks/text.js';
import { thrownText } from '../thrown-text.js';

export const STARTED_MESSAGE = '🟢 Started';
export const FINISHED_MESSAGE = '⚫ Finished';

const ERROR_PREFIX = '🔴 ';
const WARNING_PREFIX = '🟡 ';

export function errorMessage(thrown: unknown): string {
  return cutMessage(ERROR_PREFIX + thrownText(thrown));
}

export function warningMessage(text: unknown): string {
  return cutMessage(WARNING_PREFIX + thrownText(text));
}
