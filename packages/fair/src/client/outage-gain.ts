// The weight of an outcome in the view while the shared state is unreachable. Each of N instances sees one
// outcome in N, so on its own it must count each N times; a step of more than half the range from 0 to 1 would
// make decisions random. Pending folds never have the gain: the others see their own outcomes.
import type { Clock, Timer } from '@syncline/kernel';

/** The largest step for one failure. */
const STEP_MAX = 0.5;

export interface OutageGainOptions {
  readonly isEnabled: boolean;
  /** How long we must have been disconnected. */
  readonly afterMs: number;
  /** What a failure adds to a probability. */
  readonly increment: number;
}

export class OutageGain {
  readonly #clock: Clock;
  readonly #options: OutageGainOptions;
  #timer: Timer | undefined;
  /** Hot: read with every outcome. */
  factor = 1;

  constructor(clock: Clock, options: OutageGainOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** The shared state became unreachable now. */
  lost(instances: number): void {
    const { isEnabled, afterMs, increment } = this.#options;
    if (!isEnabled || this.#timer !== undefined) return;
    const raise = () => {
      this.factor = Math.max(1, Math.min(instances, STEP_MAX / increment));
    };
    this.#timer = this.#clock.setTimer(afterMs, raise, { unref: true });
  }

  /** The view is in sync with the service again. */
  regained(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.factor = 1;
  }
}
