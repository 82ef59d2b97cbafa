// What the Firestore client throws, as our errors.
//
// The client retries by itself what it thinks is worth it. What is left is named here, with the one thing that
// a caller must know: whether a commit may have arrived.
import { type Outcome, SynclineError } from '@syncline/kernel';

/** Status codes of gRPC. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const ABORTED = 10;
const UNAUTHENTICATED = 16;

export function firestoreError(what: string, thrown: unknown, outcome: Outcome): SynclineError {
  if (thrown instanceof SynclineError) return thrown;
  const code = codeOf(thrown);
  const story = thrown instanceof Error ? thrown.message.slice(0, 256) : String(thrown);
  if (isOvertaken(code, story)) {
    return new SynclineError(
      'unavailable',
      `${what} was overtaken by other writers of the job each time. Try again, or let fewer processes write.`,
      { outcome, cause: thrown, details: { reason: 'contention' } },
    );
  }
  switch (code) {
    case PERMISSION_DENIED:
    case UNAUTHENTICATED:
      return new SynclineError(
        'unauthenticated',
        `${what} is not allowed: ${story}. Check the credentials and the permissions on the collection "jobs".`,
        { cause: thrown },
      );
    case INVALID_ARGUMENT:
    case NOT_FOUND:
    case FAILED_PRECONDITION:
      return new SynclineError('unavailable', `${what}: Firestore refuses it: ${story}`, {
        retryable: false,
        outcome,
        cause: thrown,
        details: { reason: 'refused' },
      });
    case RESOURCE_EXHAUSTED:
      return new SynclineError('overloaded', `${what}: a quota of Firestore is used up: ${story}`, {
        outcome,
        cause: thrown,
      });
    default:
      return new SynclineError('unavailable', `${what}: Firestore cannot be reached: ${story}`, {
        outcome,
        cause: thrown,
        details: { reason: 'firestore' },
      });
  }
}

/** Another commit came first: the same again will read what that one wrote. */
export function isContention(error: SynclineError): boolean {
  return error.details['reason'] === 'contention';
}

/** A transaction that was committed and is committed again, since the reply was lost, has expired as well. */
function isOvertaken(code: number | undefined, story: string): boolean {
  return code === ABORTED || (code === INVALID_ARGUMENT && /transaction has expired/.test(story));
}

function codeOf(thrown: unknown): number | undefined {
  const code: unknown =
    typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, 'code') : undefined;
  return typeof code === 'number' ? code : undefined;
}
