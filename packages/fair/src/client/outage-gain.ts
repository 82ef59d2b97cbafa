// How much an outcome counts in the view while the shared state is out of reach. Each of N instances sees
// one outcome in N, so alone it must take each for N; more than half of the way from 0 to 1 in one step
// would decide by chance. Pending folds never have the gain: the others see their own outcomes.
import type { Clock, Timer } from '@syncline/kernel';

/** The largest step that a failure may make. */
const STEP_MAX = 0.5;

export interface OutageGainOptions {
  readonly isEnabled: boolean;
  /** How long we must have been alone. */
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

  /** The shared state is out of reach, since now. */
  lost(instances: number): void {
    const { isEnabled, afterMs, increment } = this.#options;
    if (!isEnabled || this.#timer !== undefined) return;
    const raise = () => {
      this.factor = Math.max(1, Math.min(instances, STEP_MAX / increment));
    };
    this.#timer = this.#clock.setTimer(afterMs, raise, { unref: true });
  }

  /** The view is that of the service again. */
  regained(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.factor = 1;
  }
}
