// What a client counts, under the name of its tracker.
import type { Metrics } from '@syncline/kernel';
import type { FairMetricName } from '../metrics-list.js';

/**
 * Why outcomes were dropped. `closed`: not acknowledged when the tracker was closed. `view`: they were part of
 * a view whose stream was cut, and could count twice if resent.
 */
export type DropReason = 'budget' | 'rejected' | 'rotated' | 'closed' | 'view';

export interface ClientGauges {
  readonly connected: boolean;
  readonly pendingCells: number;
  readonly gain: number;
  readonly msSinceSync: number | undefined;
}

export class ClientMetrics {
  readonly #metrics: Metrics<FairMetricName>;
  readonly #labels: { readonly tracker: string };

  constructor(metrics: Metrics<FairMetricName>, tracker: string) {
    this.#metrics = metrics;
    this.#labels = { tracker };
  }

  round(result: 'acked' | 'resent' | 'dropped' | 'uploaded'): void {
    this.#metrics.add('syncline_fair_client_rounds_total', 1, { ...this.#labels, result });
  }

  dropped(reason: DropReason, count: number): void {
    if (count === 0) return;
    const labels = { ...this.#labels, reason };
    this.#metrics.add('syncline_fair_client_dropped_deltas_total', count, labels);
  }

  reconnect(): void {
    this.#metrics.add('syncline_fair_client_reconnects_total', 1, this.#labels);
  }

  epochChange(): void {
    this.#metrics.add('syncline_fair_client_epoch_changes_total', 1, this.#labels);
  }

  clockSkew(skewMs: number): void {
    this.#metrics.set('syncline_fair_client_clock_skew_seconds', skewMs / 1000, this.#labels);
  }

  publish({ connected, pendingCells, gain, msSinceSync }: ClientGauges): void {
    const labels = this.#labels;
    this.#metrics.set('syncline_fair_client_connected', connected ? 1 : 0, labels);
    this.#metrics.set('syncline_fair_client_pending_cells', pendingCells, labels);
    this.#metrics.set('syncline_fair_client_gain', gain, labels);
    if (msSinceSync === undefined) return;
    this.#metrics.set('syncline_fair_client_staleness_seconds', msSinceSync / 1000, labels);
  }
}
