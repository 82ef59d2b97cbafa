// The last part to start and the first to stop: it makes the server ready, and drains the listeners.
import type { Clock, LifecyclePart } from '@syncline/kernel';
import type { ListenerPart } from './listener-part.js';
import type { Readiness } from './readiness.js';

export interface TrafficPartDeps {
  readonly clock: Clock;
  readonly readiness: Readiness;
  readonly drain: AbortController;
  readonly listeners: readonly ListenerPart[];
}

export class TrafficPart implements LifecyclePart {
  readonly name = 'traffic';
  readonly #deps: TrafficPartDeps;
  readonly #graceMs: number;

  constructor(deps: TrafficPartDeps, options: { readonly graceMs: number }) {
    this.#deps = deps;
    this.#graceMs = options.graceMs;
  }

  async start(): Promise<void> {
    this.#deps.readiness.start();
  }

  /** Requests that do not finish are aborted early, so that the slices still have time to write their data. */
  async stop(signal: AbortSignal): Promise<void> {
    const { clock, readiness, drain, listeners } = this.#deps;
    drain.abort();
    readiness.stop();
    readiness.evaluate();
    const early = new AbortController();
    const timer = clock.setTimer((this.#graceMs * 2) / 3, () => early.abort());
    const cut = AbortSignal.any([signal, early.signal]);
    const drains = await Promise.allSettled(listeners.map((listener) => listener.drain(cut)));
    timer.cancel();
    for (const drained of drains) if (drained.status === 'rejected') throw drained.reason;
  }
}
