// One beat for all streams: events of a few milliseconds travel together, and 1 000 streams cost one timer.
//
// A stream that has just sent waits for the next beat before it looks for more. One that was quiet sends its next
// event at once: waiting costs time only where there is much to join.
import { jobsLimits } from '@syncline/jobs';
import type { Clock } from '@syncline/kernel';

export class FrameBeat {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** Resolves within `frameWaitMs`. */
  next(): Promise<void> {
    if (this.#waiting.length === 0)
      this.#clock.setTimer(jobsLimits.frameWaitMs.value, () => this.#wakeAll());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wakeAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
