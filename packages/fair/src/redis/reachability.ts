// Tracks whether Redis is reachable and notifies listeners: lost once it has failed for a second, back with its
// first answer. Shorter failures are left to the retries.
import type { Clock, Timer } from '@syncline/kernel';

export interface ReachabilityDeps {
  readonly clock: Clock;
  /** Pings Redis; the result is reported as `succeeded` or `failed`. */
  probe(): void;
}

export interface ReachabilityOptions {
  readonly lostAfterMs: number;
  readonly probeIntervalMs: number;
}

export class Reachability {
  readonly #deps: ReachabilityDeps;
  readonly #options: ReachabilityOptions;
  readonly #listeners = new Set<(isReachable: boolean) => void>();
  #failingSinceMs: number | undefined;
  #isLost = false;
  #timer: Timer | undefined;

  constructor(deps: ReachabilityDeps, options: ReachabilityOptions) {
    this.#deps = deps;
    this.#options = options;
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
    this.#tell(true);
  }

  failed(): void {
    const { clock } = this.#deps;
    this.#failingSinceMs ??= clock.monotonicMs();
    this.#timer ??= clock.setTimer(this.#options.probeIntervalMs, () => this.#check(), {
      unref: true,
    });
  }

  /** The stored state is gone: for holders of a copy, this is like losing Redis and getting it back. */
  stateLost(): void {
    if (this.#isLost) return;
    this.#tell(false);
    this.#tell(true);
  }

  close(): void {
    this.#timer?.cancel();
    this.#listeners.clear();
  }

  #check(): void {
    this.#timer = undefined;
    if (this.#failingSinceMs === undefined) return;
    const failingMs = this.#deps.clock.monotonicMs() - this.#failingSinceMs;
    if (failingMs >= this.#options.lostAfterMs && !this.#isLost) {
      this.#isLost = true;
      this.#tell(false);
    }
    this.failed();
    this.#deps.probe();
  }

  #tell(isReachable: boolean): void {
    for (const listener of [...this.#listeners]) listener(isReachable);
  }
}
