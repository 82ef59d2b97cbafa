// Lets long work go on in slices, one worker per turn of the event loop.
//
// However many long commands run, together they hold the event loop for one slice per turn. Workers take
// their turns in the order in which they asked.
import type { Clock } from '@syncline/kernel';
import { setsLimits } from './limits.js';

export class TurnShare {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #sliceStartMs = Number.NEGATIVE_INFINITY;
  #isPlanned = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined while the slice has time left; else wait for the next one. */
  breathe(): Promise<void> | undefined {
    const usedMs = this.#clock.monotonicMs() - this.#sliceStartMs;
    if (this.#waiting.length === 0 && usedMs < setsLimits.turnTimeMs.value) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#clock.defer(() => {
      this.#isPlanned = false;
      this.#sliceStartMs = this.#clock.monotonicMs();
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#plan();
    });
  }
}
