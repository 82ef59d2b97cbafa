// What the sets hold right now, for /metrics. Often enough for a graph, seldom enough to cost nothing.
import type { Clock, Metrics } from '@syncline/kernel';
import type { SetsState } from './state/sets-state.js';

const INTERVAL_MS = 100;

export interface SetsGaugesDeps {
  readonly state: Pick<SetsState, 'liveDots' | 'setsCount' | 'headEntries'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  memoryBytes(): number;
  /** Operations that were made here since the start. */
  operations(): number;
}

export class SetsGauges {
  readonly #deps: SetsGaugesDeps;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #reportedOperations = 0;

  constructor(deps: SetsGaugesDeps) {
    this.#deps = deps;
  }

  reportSometimes(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#reportedMs < INTERVAL_MS) return;
    this.#reportedMs = nowMs;
    this.report();
  }

  report(): void {
    const { state, metrics } = this.#deps;
    metrics.set('syncline_sets_live_dots', state.liveDots);
    metrics.set('syncline_sets_sets', state.setsCount);
    metrics.set('syncline_sets_head_entries', state.headEntries);
    metrics.set('syncline_sets_cache_bytes', this.#deps.memoryBytes());
    const operations = this.#deps.operations();
    const added = operations - this.#reportedOperations;
    if (added > 0) metrics.add('syncline_sets_operations_total', added, { origin: 'local' });
    this.#reportedOperations = operations;
  }
}
