// Callers waiting until a connection has sent enough. Pure: the connection says when to wake them.
import { abortedError, type SynclineError } from '../error.js';

export class DrainWaiters {
  readonly #waiters = new Set<(error?: SynclineError) => void>();

  /** Waits for `settle`, or for the signal. */
  wait(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (error?: SynclineError): void => {
        this.#waiters.delete(finish);
        signal?.removeEventListener('abort', abort);
        if (error) reject(error);
        else resolve();
      };
      function abort(this: AbortSignal): void {
        finish(abortedError('waiting for a connection to drain', this));
      }
      if (signal?.aborted) return abort.call(signal);
      signal?.addEventListener('abort', abort);
      this.#waiters.add(finish);
    });
  }

  /** Ends every wait, with or without an error. */
  settle(error?: SynclineError): void {
    for (const finish of this.#waiters) finish(error);
  }
}
