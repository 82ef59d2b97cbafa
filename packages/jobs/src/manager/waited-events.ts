// The events behind `waitFor`. Who waits has no use for the cursor of a subscription that was given up: the way
// on is to call it again, and the error says so.
import { SynclineError } from '@syncline/kernel';
import type { JobEvent } from '../job-event.js';

/** What the reader of these events throws passes it by. */
export async function* waitedEvents(
  events: AsyncIterable<JobEvent>,
  jobId: string,
): AsyncGenerator<JobEvent> {
  try {
    yield* events;
  } catch (thrown) {
    throw isOutage(thrown) ? outageError(thrown, jobId) : thrown;
  }
}

function isOutage(thrown: unknown): thrown is SynclineError {
  return thrown instanceof SynclineError && thrown.code === 'unavailable' && thrown.retryable;
}

function outageError(lost: SynclineError, jobId: string): SynclineError {
  const { cause, details } = lost;
  const story = cause instanceof SynclineError ? cause.message : lost.message;
  return new SynclineError(
    'unavailable',
    `waitFor of job "${jobId}" lost the store: ${story.replace(/\.$/, '')}. Call it again.`,
    { details, cause: lost },
  );
}
