// A clock that only moves when the evaluation advances it. Five minutes of a scenario pass in a fraction of
// a second, and everything that takes part, over sockets too, agrees on the time.
import { abortedError, type Clock, type Timer } from '@syncline/kernel';

interface Waiting {
  readonly dueMs: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  readonly #startWallMs: number;
  /** The next one last. */
  readonly #timers: Waiting[] = [];
  #elapsedMs = 0;

  /** Wall time at the start, in ms since 1970. */
  constructor(startWallMs: number) {
    this.#startWallMs = startWallMs;
  }

  nowMs(): number {
    return Math.floor(this.#startWallMs + this.#elapsedMs); // as everywhere; timers need not be whole
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  setTimer(ms: number, callback: () => void): Timer {
    const waiting = { dueMs: this.#elapsedMs + ms, run: callback };
    const before = this.#timers.findLastIndex(({ dueMs }) => dueMs > waiting.dueMs);
    this.#timers.splice(before + 1, 0, waiting);
    return { cancel: () => this.#cancel(waiting) };
  }

  /** At the next `advanceTo`. */
  defer(callback: () => void): Timer {
    return this.setTimer(0, callback);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(abortedError('sleep', signal));
        return;
      }
      const onAbort = () => {
        timer.cancel();
        if (signal !== undefined) reject(abortedError('sleep', signal));
      };
      const timer = this.setTimer(ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Time passes up to this many ms since the start; timers that are due by then run, each at its time. */
  advanceTo(elapsedMs: number): void {
    for (let next = this.#timers.at(-1); next !== undefined; next = this.#timers.at(-1)) {
      if (next.dueMs > elapsedMs) break;
      this.#timers.pop();
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      next.run();
    }
    this.#elapsedMs = Math.max(this.#elapsedMs, elapsedMs);
  }

  /** The same time as a machine sees it whose clocks are off by `skewMs`. */
  skewed(skewMs: number): Clock {
    return {
      nowMs: () => this.nowMs() + skewMs,
      monotonicMs: () => this.monotonicMs() + skewMs,
      sleep: (ms, signal) => this.sleep(ms, signal),
      setTimer: (ms, callback) => this.setTimer(ms, callback),
      defer: (callback) => this.defer(callback),
    };
  }

  #cancel(waiting: Waiting): void {
    const at = this.#timers.indexOf(waiting);
    if (at >= 0) this.#timers.splice(at, 1);
  }
}
