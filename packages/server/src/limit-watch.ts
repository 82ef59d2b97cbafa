// Records which limits were reached, how often and when last, for /metrics, /api/status and the log.
//
// During an attack a limit is reached thousands of times a second, so each is logged at most once a minute, with
// a count.
import type { Clock, Limit, Logger, Metrics } from '@syncline/kernel';
import type { ServerMetricName } from './metrics-list.js';

const LOG_INTERVAL_MS = 60_000;

export interface LimitWatchDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics<ServerMetricName>;
}

export interface ReachedLimit {
  readonly package: string;
  readonly limit: string;
  readonly count: number;
  readonly lastMs: number;
}

interface Entry {
  count: number;
  lastMs: number;
  loggedCount: number;
  loggedAtMs: number;
}

export class LimitWatch {
  readonly #deps: LimitWatchDeps;
  // Keyed by package and limit; both come from lists in the code, so the map is bounded.
  readonly #entries = new Map<string, Entry>();

  constructor(deps: LimitWatchDeps) {
    this.#deps = deps;
  }

  /** Exports the value of each limit as a gauge. */
  declare(packageName: string, limits: Readonly<Record<string, Pick<Limit, 'value'>>>): void {
    for (const [limit, { value }] of Object.entries(limits)) {
      this.#deps.metrics.set('syncline_limit', value, { package: packageName, limit });
    }
  }

  reached(packageName: string, limit: string): void {
    this.#deps.metrics.add('syncline_limit_reached_total', 1, { package: packageName, limit });
    const nowMs = this.#deps.clock.nowMs();
    const key = `${packageName}/${limit}`;
    const entry = this.#entries.get(key) ?? {
      count: 0,
      lastMs: nowMs,
      loggedCount: 0,
      loggedAtMs: Number.NEGATIVE_INFINITY,
    };
    entry.count += 1;
    entry.lastMs = nowMs;
    this.#entries.set(key, entry);
    this.#log(packageName, limit, entry);
  }

  /** Sorted by name. */
  reachedLimits(): readonly ReachedLimit[] {
    return [...this.#entries.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, { count, lastMs }]) => {
        const slash = key.indexOf('/');
        return { package: key.slice(0, slash), limit: key.slice(slash + 1), count, lastMs };
      });
  }

  #log(packageName: string, limit: string, entry: Entry): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - entry.loggedAtMs < LOG_INTERVAL_MS) return;
    const times = entry.count - entry.loggedCount;
    this.#deps.logger.warn('limit reached', { package: packageName, limit, times });
    entry.loggedAtMs = nowMs;
    entry.loggedCount = entry.count;
  }
}
