// What to do when a handler throws something that is no SynclineError: a bug of ours.
//
// The client learns that it was not its fault and that the outcome is unknown; the log gets the rest.
// A failed assert means that our state can no longer be trusted, so the process stops.
import { AssertionError, type LogFields, type Logger, SynclineError } from '@syncline/kernel';

export function reportBug(logger: Logger, thrown: unknown, where: LogFields): SynclineError {
  logger.error('handler failed', { ...where, error: thrown });
  if (thrown instanceof AssertionError) {
    queueMicrotask(() => {
      throw thrown; // outside of every catch
    });
  }
  return new SynclineError('unavailable', 'an internal error; the log of the server tells more', {
    outcome: 'unknown',
    retryable: false,
  });
}
