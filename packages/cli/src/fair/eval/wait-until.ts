// Waits for events from real sockets while the simulated clock stands still.
import { setImmediate } from 'node:timers/promises';
import { SynclineError } from '@syncline/kernel';

/** A round normally takes milliseconds. */
const TIMEOUT_MS = 10_000;

/** Rejects with `unavailable`. */
export async function waitUntil(condition: () => boolean, what: string): Promise<void> {
  const deadlineMs = performance.now() + TIMEOUT_MS;
  while (!condition()) {
    if (performance.now() > deadlineMs) {
      const text = `timed out after ${TIMEOUT_MS / 1_000} s waiting for ${what}.`;
      throw new SynclineError('unavailable', text);
    }
    await setImmediate();
  }
}
