// How much of snapshots and missed cells all streams of a service get in one turn of the event loop. They
// are as large as a client wishes, and a thousand clients may ask at once: what is beyond a turn's worth
// waits for a later one, in the order in which it was asked for, and changes and rounds get their turns
// between. A stream that waits here counts as behind, so rounds mark what it misses.
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

  /** Calls back, once, in a turn in which there is something left. */
  wait(outbox: StreamOutbox, goOn: () => void): void {
    this.#waiting.set(outbox, goOn);
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
    for (const [outbox, goOn] of this.#waiting) {
      if (!this.isOpen) break;
      this.#waiting.delete(outbox);
      goOn();
    }
    if (this.#waiting.size > 0) this.#schedule();
  }
}
