// The clocks of a client: when it flushes, how long it waits, how much an outcome weighs during an outage, and what a
// closing client waits for. All timers are unreferenced except the last.
import type { Clock, Timer } from '@syncline/kernel';

// When to flush: every interval while something is pending, and never otherwise.
//
// An interval of 0 means "as soon as possible": after everything readable in this turn, and not inside
// `report`, which must do no I/O (F8). A burst of outcomes becomes one round. Instances still decide as one
// (F1) if the network settles between two calls, because then each outcome has its own round.

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

// How long outcomes may wait for an acknowledgement, and a stream for the service's first message. One lazy
// timer: an acknowledgement moves the deadline but not the timer, which checks again when it fires.

export class RetryBudget {
  readonly #clock: Clock;
  readonly #budgetMs: number;
  readonly #onSpent: () => void;
  /** Monotonic ms; undefined while nothing waits. */
  #waitingSinceMs: number | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock, budgetMs: number, onSpent: () => void) {
    this.#clock = clock;
    this.#budgetMs = budgetMs;
    this.#onSpent = onSpent;
  }

  /** Hot: something is waiting, from now on if nothing was before. */
  begin(): void {
    if (this.#waitingSinceMs === undefined) this.restart();
  }

  /** Something still waits, but there was progress. */
  restart(): void {
    this.#waitingSinceMs = this.#clock.monotonicMs();
    if (this.#timer === undefined) this.#arm(this.#budgetMs);
  }

  /** Nothing waits any more. */
  end(): void {
    this.#waitingSinceMs = undefined;
  }

  cancel(): void {
    this.end();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.setTimer(ms, () => this.#look(), { unref: true });
  }

  #look(): void {
    this.#timer = undefined;
    if (this.#waitingSinceMs === undefined) return;
    const leftMs = this.#waitingSinceMs + this.#budgetMs - this.#clock.monotonicMs();
    if (leftMs > 0) {
      this.#arm(leftMs);
      return;
    }
    this.#waitingSinceMs = undefined;
    this.#onSpent();
  }
}

// The weight of an outcome in the view while the shared state is unreachable. Each of N instances sees one
// outcome in N, so on its own it must count each N times; a step of more than half the range from 0 to 1 would
// make decisions random. Pending folds never have the gain: the others see their own outcomes.

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

// Waits for a condition to become true, up to a deadline.

export class Wakeups {
  readonly #clock: Clock;
  #wake: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something happened: the waiter checks again. */
  wake(): void {
    this.#wake();
  }

  /** One waiter at a time. Resolves when it is done or the deadline, in monotonic ms, has come. */
  async until(isDone: () => boolean, deadlineMs: number): Promise<void> {
    const leftMs = deadlineMs - this.#clock.monotonicMs();
    if (isDone() || leftMs <= 0) return;
    await new Promise<void>((resolve) => {
      const finish = () => {
        timer.cancel();
        this.#wake = () => {};
        resolve();
      };
      const timer = this.#clock.setTimer(leftMs, finish);
      this.#wake = () => {
        if (isDone()) finish();
      };
    });
  }
}
