// How long outcomes may wait for an acknowledgement, and a stream for the service's first message. One lazy
// timer: an acknowledgement moves the deadline but not the timer, which checks again when it fires.
import type { Clock, Timer } from '@syncline/kernel';

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
