// Callers that wait until enough peers have applied an operation.
import { SynclineError } from '@syncline/kernel';
import { meshLimits } from './limits.js';

interface Waiter {
  readonly counter: number;
  readonly count: number;
  readonly finish: () => void;
}

export class AppliedWaiters {
  readonly #waiters = new Set<Waiter>();
  readonly #appliedCount: (counter: number) => number;

  /** `appliedCount` returns how many peers have applied a counter. */
  constructor(appliedCount: (counter: number) => number) {
    this.#appliedCount = appliedCount;
  }

  /** Resolves with the number of peers once it is at least `count`, or when the signal fires. */
  wait(counter: number, count: number, signal: AbortSignal): Promise<number> {
    const isDone = () => signal.aborted || this.#appliedCount(counter) >= count;
    if (isDone()) return Promise.resolve(this.#appliedCount(counter));
    if (this.#waiters.size >= meshLimits.waitersMax.value) {
      const message = 'too many callers are waiting for acknowledgements from peers';
      return Promise.reject(new SynclineError('overloaded', message));
    }
    return new Promise((resolve) => {
      const finish = () => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', finish);
        resolve(this.#appliedCount(counter));
      };
      const waiter = { counter, count, finish };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', finish);
    });
  }

  /** A peer has applied everything up to this counter. */
  advanced(applied: number): void {
    for (const { counter, count, finish } of this.#waiters) {
      if (counter <= applied && this.#appliedCount(counter) >= count) finish();
    }
  }

  /** Ends all waits with what is known. */
  close(): void {
    for (const { finish } of this.#waiters) finish();
  }
}
