// Waits for what comes over real sockets while the evaluation's own clock stands still.
import { setImmediate } from 'node:timers/promises';
import { SynclineError } from '@syncline/kernel';

/** A round takes milliseconds; what has not come by then does not come. */
const PATIENCE_MS = 10_000;

/** Rejects with `unavailable`. */
export async function waitUntil(condition: () => boolean, what: string): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > deadlineMs) {
      const text = `timed out after ${PATIENCE_MS / 1_000} s waiting for ${what}.`;
      throw new SynclineError('unavailable', text);
    }
    await setImmediate();
  }
}
