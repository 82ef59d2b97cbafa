// The rates of counters, sampled once a second: a short history for the sparklines of the dashboard.
//
// It runs even while no page is open, so that a new page can show the last two minutes. A sample only reads a
// handful of counters.
import type { Clock } from '@syncline/kernel';
import { serverLimits } from '../limits.js';
import type { MetricSample } from '../metrics/prom-metrics.js';

const INTERVAL_MS = 1_000;

export interface RateDefinition {
  /** What it counts, as shown to users: `writes`. */
  readonly name: string;
  /** A counter, or a histogram whose observations are counted. */
  readonly metric: string;
  /** A label by which the current rate is broken down. */
  readonly by?: string;
}

export interface Rate {
  readonly name: string;
  readonly perSecond: number;
  /** Oldest first, one per second. */
  readonly history: readonly number[];
  readonly byLabel: Readonly<Record<string, number>>;
}

export interface RateHistoryDeps {
  readonly clock: Clock;
  readonly metrics: { read(name: string): Promise<readonly MetricSample[]> };
  readonly draining: AbortSignal;
}

interface Series {
  readonly definition: RateDefinition;
  readonly history: number[];
  totals: ReadonlyMap<string, number>;
  byLabel: Readonly<Record<string, number>>;
}

export class RateHistory {
  readonly #deps: RateHistoryDeps;
  readonly #series: ReadonlyMap<string, readonly Series[]>;
  #sampledMs: number;

  /** Definitions by slice. */
  constructor(
    deps: RateHistoryDeps,
    definitions: Readonly<Record<string, readonly RateDefinition[]>>,
  ) {
    this.#deps = deps;
    this.#series = new Map(
      Object.entries(definitions).map(([slice, list]) => [
        slice,
        list.map((definition) => ({ definition, history: [], totals: new Map(), byLabel: {} })),
      ]),
    );
    this.#sampledMs = deps.clock.monotonicMs();
    this.#schedule();
  }

  of(slice: string): readonly Rate[] {
    return (this.#series.get(slice) ?? []).map(({ definition, history, byLabel }) => ({
      name: definition.name,
      perSecond: history.at(-1) ?? 0,
      history,
      byLabel,
    }));
  }

  #schedule(): void {
    if (this.#deps.draining.aborted) return;
    const run = (): void => void this.#sample();
    this.#deps.clock.setTimer(INTERVAL_MS, run, { unref: true });
  }

  async #sample(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    const seconds = (nowMs - this.#sampledMs) / 1_000;
    this.#sampledMs = nowMs;
    for (const list of this.#series.values()) {
      for (const series of list) await this.#sampleSeries(series, seconds);
    }
    this.#schedule();
  }

  async #sampleSeries(series: Series, seconds: number): Promise<void> {
    const { metric, by } = series.definition;
    const totals = new Map<string, number>();
    for (const { labels, value } of await this.#deps.metrics.read(metric)) {
      const label = by === undefined ? '' : String(labels[by] ?? '');
      totals.set(label, (totals.get(label) ?? 0) + value);
    }
    let rise = 0;
    const byLabel: Record<string, number> = {};
    for (const [label, total] of totals) {
      const risen = Math.max(0, total - (series.totals.get(label) ?? 0));
      rise += risen;
      if (by !== undefined) byLabel[label] = round(risen / seconds);
    }
    series.totals = totals;
    series.byLabel = byLabel;
    series.history.push(round(rise / seconds));
    if (series.history.length > serverLimits.rateHistoryMax.value) series.history.shift();
  }
}

function round(value: number): number {
  return value < 10 ? Math.round(value * 10) / 10 : Math.round(value);
}
