// One write in flight per key, in the order of the calls; keys do not wait for each other.
//
// A call takes its place at once and may then check its input, wait, or give up; whoever comes later waits
// for it and for all before it. What waits is bounded: a store out of reach must not fill the memory.
import { abortedError, SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';

export interface Place {
  /** Resolves when all calls before this one have left; rejects with `aborted`. */
  turn(signal: AbortSignal | undefined): Promise<void>;
  /** To be called exactly once, whatever happened. */
  leave(): void;
}

export class KeyOrder {
  readonly #tails = new Map<string, Promise<void>>();
  #waiting = 0;
  #bytes = 0;

  /** Throws `overloaded`, and takes no place then. `bytes`: what the call holds in memory. */
  enter(key: string, bytes: number): Place {
    this.#refuseIfFull(bytes);
    this.#waiting += 1;
    this.#bytes += bytes;
    const before = this.#tails.get(key) ?? Promise.resolve();
    let finish = () => {};
    const own = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const tail = before.then(() => own);
    this.#tails.set(key, tail);
    const leave = () => {
      this.#waiting -= 1;
      this.#bytes -= bytes;
      finish();
      // Nothing here can reject: a place is only ever left.
      void tail.then(() => {
        if (this.#tails.get(key) === tail) this.#tails.delete(key);
      });
    };
    return { turn: (signal) => abortable(before, signal), leave };
  }

  /** When all that have entered so far have left. */
  async drained(): Promise<void> {
    await Promise.all(this.#tails.values());
  }

  #refuseIfFull(bytes: number): void {
    const { writeQueueMax, writeQueueBytesMax } = jobsLimits;
    const limit =
      this.#waiting >= writeQueueMax.value
        ? 'writeQueueMax'
        : this.#bytes + bytes > writeQueueBytesMax.value
          ? 'writeQueueBytesMax'
          : undefined;
    if (limit === undefined) return;
    throw new SynclineError(
      'overloaded',
      `${this.#waiting} writes of this manager wait for the store, ${this.#bytes} bytes in all; await some of them before the next`,
      { details: { limit } },
    );
  }
}

function abortable(before: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return before;
  return new Promise((resolve, reject) => {
    const abort = () => reject(abortedError('a write that waited for its turn', signal));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    void before.then(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
  });
}
