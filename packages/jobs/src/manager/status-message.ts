// The messages of the helpers: an emoji first, so that a person sees the kind of a state at a glance, and
// whatever was thrown as text that fits.
import { cutMessage } from '../checks/text.js';

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

/** Anything can be thrown: what has no text of its own, or fails to give it, is named by its kind. */
function thrownText(thrown: unknown): string {
  try {
    if (typeof thrown !== 'object' || thrown === null) return String(thrown);
    const { message, name } = thrown as { readonly message?: unknown; readonly name?: unknown };
    if (typeof message === 'string' && message !== '') return message;
    if (thrown instanceof Error) return String(name);
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return `what was thrown is ${typeof thrown === 'function' ? 'a' : 'an'} ${typeof thrown} without text`;
  }
}
