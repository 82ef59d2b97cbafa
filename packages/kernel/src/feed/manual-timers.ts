// Timers that fire when a test says so. A feed uses no other part of a clock.
import type { Clock } from '../clock.js';

/** How far the clock advances when all fire: longer than any wait of a feed. */
const STEP_MS = 60_000;

export class ManualTimers {
  readonly #callbacks = new Set<() => void>();
  #nowMs = 0;
  readonly clock = {
    monotonicMs: () => this.#nowMs,
    setTimer: (_ms: number, callback: () => void) => {
      this.#callbacks.add(callback);
      return { cancel: () => void this.#callbacks.delete(callback) };
    },
  } as unknown as Clock;

  get pending(): number {
    return this.#callbacks.size;
  }

  fireAll(): void {
    this.#nowMs += STEP_MS;
    for (const callback of [...this.#callbacks]) {
      this.#callbacks.delete(callback);
      callback();
    }
  }
}
