// For what follows a commit: a failure there does not mean that nothing was applied.
import { SynclineError } from '@syncline/kernel';

/** Throws the same on, as one whose outcome nobody knows. */
export function outcomeUnknown(thrown: unknown): never {
  const { code, message, retryable, details } = SynclineError.from(thrown);
  throw new SynclineError(code, message, { retryable, details, outcome: 'unknown', cause: thrown });
}
