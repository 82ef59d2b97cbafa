// Waits for a call that cannot be stopped, unless the caller gives up first.
import { abortedError, type Outcome, SynclineError } from '@syncline/kernel';

/** `outcome`: what is known of the call when the caller gives up. */
export function whileWanted<T>(
  call: Promise<T>,
  signal: AbortSignal | undefined,
  outcome: Outcome = 'not-applied',
): Promise<T> {
  if (!signal) return call;
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      const { code, message, cause } = abortedError('the call to the job store', signal);
      reject(new SynclineError(code, message, { outcome, cause }));
    };
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp);
    call.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
