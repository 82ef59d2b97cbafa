// Lets a bounded number of calls to Firestore be under way at once. Others wait, first come, first served. One that
// nobody wants any more leaves its place and never runs: a write must not happen after its caller was told that it
// did not.
import { abortedError, SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';

export class CallSlots {
  /** In the order in which they came. */
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(slotsMax: number) {
    this.#free = slotsMax;
  }

  async run<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    try {
      return await call();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#free += 1;
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    const { value: waitingMax } = jobsLimits.firestoreCallsWaitingMax;
    if (this.#waiting.size >= waitingMax) {
      throw new SynclineError(
        'overloaded',
        `${waitingMax} calls wait for Firestore already. Try again later, or raise concurrencyMax.`,
        { details: { limit: 'firestoreCallsWaitingMax' } },
      );
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        this.#waiting.delete(begin);
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.delete(begin);
        reject(abortedError('a call that waited for others', signal));
      };
      this.#waiting.add(begin);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
