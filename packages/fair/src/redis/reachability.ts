// Tracks whether Redis is reachable and notifies listeners: lost once it has failed for a second, back with its
// first answer. Shorter failures are left to the retries.
import type { Clock, Timer } from '@syncline/kernel';

export interface ReachabilityDeps {
  readonly clock: Clock;
  /** Pings Redis; the result is reported as `succeeded` or `failed`. */
  probe(): void;
}

const LOST_AFTER_MS = 1_000;
const PROBE_INTERVAL_MS = 200;

export class Reachability {
  readonly #deps: ReachabilityDeps;
  readonly #listeners = new Set<(isReachable: boolean) => void>();
  #failingSinceMs: number | undefined;
  #isLost = false;
  #timer: Timer | undefined;

  constructor(deps: ReachabilityDeps) {
    this.#deps = deps;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  listen(listener: (isReachable: boolean) => void): { close(): void } {
    this.#listeners.add(listener);
    return { close: () => this.#listeners.delete(listener) };
  }

  succeeded(): void {
    this.#failingSinceMs = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (!this.#isLost) return;
    this.#isLost = false;
    this.#notify(true);
  }

  failed(): void {
    const { clock } = this.#deps;
    this.#failingSinceMs ??= clock.monotonicMs();
    this.#timer ??= clock.setTimer(PROBE_INTERVAL_MS, () => this.#check(), { unref: true });
  }

  /** The stored state is gone: for holders of a copy, this is like losing Redis and getting it back. */
  stateLost(): void {
    if (this.#isLost) return;
    this.#notify(false);
    this.#notify(true);
  }

  close(): void {
    this.#timer?.cancel();
    this.#listeners.clear();
  }

  #check(): void {
    this.#timer = undefined;
    if (this.#failingSinceMs === undefined) return;
    const failingMs = this.#deps.clock.monotonicMs() - this.#failingSinceMs;
    if (failingMs >= LOST_AFTER_MS && !this.#isLost) {
      this.#isLost = true;
      this.#notify(false);
    }
    this.failed();
    this.#deps.probe();
  }

  #notify(isReachable: boolean): void {
    for (const listener of [...this.#listeners]) listener(isReachable);
  }
}
