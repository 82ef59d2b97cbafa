// Limits the snapshots and missed cells that all streams of a service get in one turn of the event loop.
// Clients choose their size, and a thousand clients may request them at the same time: the excess waits for
// later turns, in the order of the requests, so that changes and rounds can run in between. A waiting stream
// counts as behind, so rounds mark what it misses.
import type { Clock } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { StreamOutbox } from './stream-outbox.js';

export class AnswerPace {
  readonly #clock: Clock;
  readonly #waiting = new Map<StreamOutbox, () => void>();
  #bytesLeft = fairLimits.answerBytesPerTurn.value;
  #isScheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isOpen(): boolean {
    return this.#bytesLeft > 0;
  }

  spend(bytes: number): void {
    this.#bytesLeft -= bytes;
    this.#schedule();
  }

  /** Calls back once, in a turn that has capacity left. */
  wait(outbox: StreamOutbox, proceed: () => void): void {
    this.#waiting.set(outbox, proceed);
    this.#schedule();
  }

  forget(outbox: StreamOutbox): void {
    this.#waiting.delete(outbox);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.defer(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    this.#bytesLeft = fairLimits.answerBytesPerTurn.value;
    for (const [outbox, proceed] of this.#waiting) {
      if (!this.isOpen) break;
      this.#waiting.delete(outbox);
      proceed();
    }
    if (this.#waiting.size > 0) this.#schedule();
  }
}
