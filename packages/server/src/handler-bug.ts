// Handles a bug, that is, a handler that threw anything other than a SynclineError.
//
// The client gets an internal error with an unknown outcome; the details are logged. A failed assertion means
// that our state can no longer be trusted, so the process exits.
import { AssertionError, type LogFields, type Logger, SynclineError } from '@syncline/kernel';

export function reportBug(logger: Logger, thrown: unknown, where: LogFields): SynclineError {
  logger.error('handler failed', { ...where, error: thrown });
  if (thrown instanceof AssertionError) {
    queueMicrotask(() => {
      throw thrown; // where nothing catches it
    });
  }
  return new SynclineError('unavailable', 'internal error; see the server log for details', {
    outcome: 'unknown',
    retryable: false,
  });
}
