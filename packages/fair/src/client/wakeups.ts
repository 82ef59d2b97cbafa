// Waits for a condition to become true, up to a deadline.
import type { Clock } from '@syncline/kernel';

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
