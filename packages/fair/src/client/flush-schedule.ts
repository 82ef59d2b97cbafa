// When to flush: every interval while something is pending, and never otherwise.
//
// An interval of 0 means "as soon as possible": after everything readable in this turn, and not inside
// `report`, which must do no I/O (F8). A burst of outcomes becomes one round. Instances still decide as one
// (F1) if the network settles between two calls, because then each outcome has its own round.
import type { Clock, Timer } from '@syncline/kernel';

export class FlushSchedule {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onDue: () => void;
  #timer: Timer | undefined;

  constructor(clock: Clock, intervalMs: number, onDue: () => void) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#onDue = onDue;
  }

  /** Hot: there is something to flush. */
  request(): void {
    if (this.#timer !== undefined) return;
    const fire = () => {
      this.#timer = undefined;
      this.#onDue();
    };
    this.#timer =
      this.#intervalMs === 0
        ? this.#clock.defer(fire)
        : this.#clock.setTimer(this.#intervalMs, fire, { unref: true });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
