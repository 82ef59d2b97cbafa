// Those who wait for the version to move on: SYNCLINE.READ AFTER a version that has not arrived.
import { abortedError } from '@syncline/kernel';

export class VersionWaiters {
  #waiting = new Set<() => void>();

  /** Resolves with the next commit. */
  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(abortedError('waiting for a version', signal));
      const moved = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.delete(moved);
        reject(abortedError('waiting for a version', signal));
      };
      this.#waiting.add(moved);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  moved(): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const resolve of waiting) resolve();
  }
}
