// How long the event loop of this process was blocked, which a busy machine adds to every time that a test measures.
// The server of a test runs in the same process, so its own timers are late by as much.

const TICK_MS = 10;
/** Less is what timers always are. */
const LATE_MS_MIN = 50;

export class Lateness implements Disposable {
  readonly #timer = setInterval(() => this.#tick(), TICK_MS);
  #lastMs = performance.now();
  #lateMs = 0;

  /** Since it was created. */
  get ms(): number {
    this.#tick();
    return this.#lateMs;
  }

  #tick(): void {
    const nowMs = performance.now();
    if (nowMs - this.#lastMs >= LATE_MS_MIN) this.#lateMs += nowMs - this.#lastMs - TICK_MS;
    this.#lastMs = nowMs;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
