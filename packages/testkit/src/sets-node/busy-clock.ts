// A clock for a process that works: time passes with each look at it, and turns of the event loop take a while.
//
// In a simulation code takes no time. Long commands and checkpoints would then never use up their slice, and nobody
// could write while they are at work.
import type { Clock, Timer } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';

const LOOK_MS = 0.7;

export class BusyClock implements Clock {
  readonly #inner: Clock;
  readonly #random: SeededRandom;
  readonly #turnMsMax: number;
  #lastMs = 0;
  /** What runs at the end of the turn. */
  #deferred: { run: () => void }[] = [];

  /** Without `turnMsMax` a turn ends at the moment at which it began. */
  constructor(inner: Clock, random: SeededRandom, turnMsMax: number) {
    this.#inner = inner;
    this.#random = random;
    this.#turnMsMax = turnMsMax;
  }

  nowMs(): number {
    return this.#inner.nowMs();
  }

  monotonicMs(): number {
    this.#lastMs = Math.max(this.#inner.monotonicMs(), this.#lastMs + LOOK_MS);
    return this.#lastMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#inner.sleep(ms, signal);
  }

  setTimer(ms: number, callback: () => void): Timer {
    return this.#inner.setTimer(ms, callback);
  }

  defer(callback: () => void): Timer {
    if (this.#turnMsMax === 0) return this.#inner.defer(callback);
    const entry = { run: callback };
    if (this.#deferred.push(entry) === 1) {
      this.#inner.setTimer(this.#random.float() * this.#turnMsMax, () => {
        const turn = this.#deferred;
        this.#deferred = [];
        for (const each of turn) this.#inner.defer(() => each.run());
      });
    }
    return {
      cancel: () => {
        entry.run = () => {};
      },
    };
  }
}
