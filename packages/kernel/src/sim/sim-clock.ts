// The clock of a simulated machine, and the Clock port that one of its processes sees.
//
// The machine's clock outlives processes. Its wall time can be stepped, as an administrator or NTP
// does; a drift makes the whole machine fast or slow, its timers too. Monotonic time never steps.
import type { Clock, Timer } from '../clock.js';
import { abortedError } from '../error.js';
import type { ProcessLife } from './process-life.js';
import type { Scheduler } from './scheduler.js';

/** Wall time at the start of every simulation: 2025-01-01T00:00:00Z. */
const WALL_START_MS = 1_735_689_600_000;

export class MachineClock {
  readonly #scheduler: Scheduler;
  #wallOffsetMs: number;
  #rate = 1;
  /** Simulated and local time of the last change of rate. */
  #worldAnchorMs = 0;
  #localAnchorMs = 0;

  constructor(scheduler: Scheduler, skewMs = 0) {
    this.#scheduler = scheduler;
    this.#wallOffsetMs = WALL_START_MS + skewMs;
  }

  wallMs(): number {
    return Math.floor(this.monotonicMs() + this.#wallOffsetMs);
  }

  monotonicMs(): number {
    return this.#localAnchorMs + (this.#scheduler.nowMs - this.#worldAnchorMs) * this.#rate;
  }

  /** Steps wall time, forward or back. Monotonic time and timers are not affected. */
  step(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Parts per million that this machine runs fast (or slow, below 0). Pending timers keep their due time. */
  setDrift(partsPerMillion: number): void {
    this.#localAnchorMs = this.monotonicMs();
    this.#worldAnchorMs = this.#scheduler.nowMs;
    this.#rate = 1 + partsPerMillion / 1e6;
  }

  /** How long `ms` of this machine's time take in simulated time. As in Node, the minimum is 1 ms. */
  worldDelayMs(ms: number): number {
    const atLeastMs = Math.max(1, ms);
    return this.#rate === 1 ? atLeastMs : atLeastMs / this.#rate + 0.001; // never early, though rounded
  }
}

export class SimClock implements Clock {
  readonly #scheduler: Scheduler;
  readonly #machine: MachineClock;
  readonly #life: ProcessLife;

  constructor(deps: { scheduler: Scheduler; machine: MachineClock; life: ProcessLife }) {
    this.#scheduler = deps.scheduler;
    this.#machine = deps.machine;
    this.#life = deps.life;
  }

  nowMs(): number {
    return this.#machine.wallMs();
  }

  monotonicMs(): number {
    return this.#machine.monotonicMs();
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

  setTimer(ms: number, callback: () => void): Timer {
    return this.#scheduler.after(this.#machine.worldDelayMs(ms), {
      kind: 'timer',
      subject: this.#life.nodeName,
      owner: this.#life,
      run: callback,
    });
  }

  defer(callback: () => void): Timer {
    const { nodeName } = this.#life;
    const work = { kind: 'defer', subject: nodeName, owner: this.#life, run: callback };
    return this.#scheduler.defer(work);
  }
}
