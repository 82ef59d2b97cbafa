// Lets any number of callers wait until something has changed.
import { abortedError } from '@syncline/kernel';

export class WakeUps {
  readonly #waiting = new Set<() => void>();

  wake(): void {
    for (const resume of this.#waiting) resume();
    this.#waiting.clear();
  }

  /** Resolves at the next `wake`. Rejects with `aborted`. */
  wait(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(abortedError('waiting for Firestore', signal));
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(resume);
        if (signal) reject(abortedError('waiting for Firestore', signal));
      };
      const resume = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      this.#waiting.add(resume);
      signal?.addEventListener('abort', giveUp);
    });
  }
}
