// The messages of setError and setWarning: an emoji first, so that the kind of a state is visible at a glance, then the
// text of the thrown value and its causes, truncated to the limit.
import { cutMessage } from '../checks/values.js';

export const errorMessage = (thrown: unknown) => cutMessage(`🔴 ${textWithCauses(thrown)}`);
export const warningMessage = (text: unknown) => cutMessage(`🟡 ${textWithCauses(text)}`);

/** Deeper causes add little, and a chain may be circular. */
const CAUSES_MAX = 8;

/** Skips causes whose text is already included: many errors quote their cause. */
function textWithCauses(thrown: unknown): string {
  let text = thrownText(thrown);
  let cause = causeOf(thrown);
  for (let depth = 0; depth < CAUSES_MAX && cause !== undefined; depth += 1) {
    const causeText = thrownText(cause);
    if (!text.includes(causeText)) text += `; caused by: ${causeText}`;
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

/** The text of a thrown value. If there is none, or reading it fails, its type. */
export function thrownText(thrown: unknown): string {
  try {
    if (typeof thrown !== 'object' || thrown === null) return String(thrown);
    const { message, name } = thrown as { readonly message?: unknown; readonly name?: unknown };
    if (typeof message === 'string' && message !== '') return message;
    if (thrown instanceof Error) return String(name);
    return JSON.stringify(thrown);
  } catch {
    return `a thrown ${typeof thrown} without text`;
  }
}
