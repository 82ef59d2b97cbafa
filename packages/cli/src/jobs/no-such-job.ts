// A server says in terms of HTTP that there is no such job. Here the next step is a command.
import { SynclineError } from '@syncline/kernel';

/** Any other error is handed on as it came. */
export function forPeople(thrown: unknown, jobId: string): unknown {
  const isNoJob =
    thrown instanceof SynclineError &&
    thrown.code === 'not-found' &&
    thrown.message.startsWith('there is no job');
  if (!isNoJob) return thrown;
  const message = `there is no job ${JSON.stringify(jobId)}. "syncline jobs ls" lists all.`;
  const { retryable, outcome, details } = thrown;
  return new SynclineError('not-found', message, { retryable, outcome, details, cause: thrown });
}

/** For `catch`. */
export function rethrowForPeople(jobId: string): (thrown: unknown) => never {
  return (thrown) => {
    throw forPeople(thrown, jobId);
  };
}
