// Notices that a subscriber has received nothing for a while, with one timer that is not moved by every event.
import type { Clock, Timer } from '../clock.js';

export class IdleWatch {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onIdle: () => void;
  #timer: Timer | undefined;
  #lastEventMs = 0;

  /** `intervalMs` may be infinite: never. */
  constructor(clock: Clock, intervalMs: number, onIdle: () => void) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#onIdle = onIdle;
  }

  onEvent(): void {
    this.#lastEventMs = this.#clock.monotonicMs();
  }

  /** Calls back once, when no event has arrived for the interval. */
  start(): void {
    if (!this.#timer && Number.isFinite(this.#intervalMs)) this.#setTimer(this.#intervalMs);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #setTimer(ms: number): void {
    this.#timer = this.#clock.setTimer(ms, this.#onTimer, { unref: true });
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    const leftMs = this.#lastEventMs + this.#intervalMs - this.#clock.monotonicMs();
    if (leftMs > 0) this.#setTimer(leftMs);
    else this.#onIdle();
  };
}
