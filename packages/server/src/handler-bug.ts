// Handles a bug: a handler threw something other than a SynclineError.
//
// The client is told that the server failed and that the outcome is unknown; the details are logged. A failed
// assertion means that our state can no longer be trusted, so the process stops.
import { AssertionError, type LogFields, type Logger, SynclineError } from '@syncline/kernel';

export function reportBug(logger: Logger, thrown: unknown, where: LogFields): SynclineError {
  logger.error('handler failed', { ...where, error: thrown });
  if (thrown instanceof AssertionError) {
    queueMicrotask(() => {
      throw thrown; // outside of every catch
    });
  }
  return new SynclineError('unavailable', 'internal error; see the server log for details', {
    outcome: 'unknown',
    retryable: false,
  });
}
