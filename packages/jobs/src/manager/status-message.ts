// The messages of the helpers: an emoji first, so that a person sees the kind of a state at a glance, and
// whatever was thrown as text that fits, with its causes.
import { cutMessage } from '../checks/text.js';
import { thrownText } from '../thrown-text.js';

export const STARTED_MESSAGE = '🟢 Started';
export const FINISHED_MESSAGE = '⚫ Finished';

const ERROR_PREFIX = '🔴 ';
const WARNING_PREFIX = '🟡 ';

export function errorMessage(thrown: unknown): string {
  return cutMessage(ERROR_PREFIX + textWithCauses(thrown));
}

export function warningMessage(text: unknown): string {
  return cutMessage(WARNING_PREFIX + textWithCauses(text));
}

/** Deeper ones say little, and a chain may be a circle. */
const CAUSES_MAX = 8;

/** What a text says already is not said again: many errors quote their cause. */
function textWithCauses(thrown: unknown): string {
  let text = thrownText(thrown);
  let cause = causeOf(thrown);
  for (let depth = 0; depth < CAUSES_MAX && cause !== undefined; depth += 1) {
    const story = thrownText(cause);
    if (!text.includes(story)) text += `; caused by: ${story}`;
    cause = causeOf(cause);
  }
  return text;
}

function causeOf(thrown: unknown): unknown {
  try {
    return thrown instanceof Error ? (thrown.cause ?? undefined) : undefined;
  } catch {
    return undefined; // a getter that throws
  }
}
