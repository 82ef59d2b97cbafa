// A clock whose turns end, and whose time passes, only when the test says so.
import type { Clock, Timer } from '@syncline/kernel';

export class ManualTurns implements Clock {
  now = 0;
  #deferred: (() => void)[] = [];

  nowMs(): number {
    return this.now;
  }

  monotonicMs(): number {
    return this.now;
  }

  sleep(): Promise<void> {
    return Promise.reject(new Error('sleep is not supported'));
  }

  setTimer(): Timer {
    return { cancel: () => undefined };
  }

  defer(callback: () => void): Timer {
    this.#deferred.push(callback);
    return { cancel: () => undefined };
  }

  /** Runs what was deferred up to now. */
  endTurn(): void {
    const deferred = this.#deferred;
    this.#deferred = [];
    for (const callback of deferred) callback();
  }

  /** The same, but promises settle between two callbacks, as in Node. */
  async endTurnInSteps(settled: () => Promise<void>): Promise<void> {
    const deferred = this.#deferred;
    this.#deferred = [];
    for (const callback of deferred) {
      callback();
      await settled();
    }
  }
}
