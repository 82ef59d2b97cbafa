// A clock that counts pending timers, to check whether something that was closed has left one.
import type { Clock, Timer } from '@syncline/kernel';

export class TimerCount implements Clock {
  readonly #clock: Clock;
  readonly #pending = new Set<object>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get pending(): number {
    return this.#pending.size;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const token = {};
    this.#pending.add(token);
    try {
      await this.#clock.sleep(ms, signal);
    } finally {
      this.#pending.delete(token);
    }
  }

  setTimer(ms: number, callback: () => void, options?: { readonly unref?: boolean }): Timer {
    return this.#count((fire) => this.#clock.setTimer(ms, fire, options), callback);
  }

  defer(callback: () => void): Timer {
    return this.#count((fire) => this.#clock.defer(fire), callback);
  }

  #count(start: (fire: () => void) => Timer, callback: () => void): Timer {
    const token = {};
    this.#pending.add(token);
    const timer = start(() => {
      this.#pending.delete(token);
      callback();
    });
    return {
      cancel: () => {
        this.#pending.delete(token);
        timer.cancel();
      },
    };
  }
}
