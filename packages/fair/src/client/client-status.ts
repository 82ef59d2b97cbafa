// What a client shows of itself: its status for `tracker.status()`, its metrics, and its lines in the log.
import type { Logger, Metrics, SynclineError } from '@syncline/kernel';
import type { FairMetricName } from '../metrics-list.js';
import type { ClientEvent } from './client-state.js';

/** Why the shared state refuses this instance. */
export interface Refusal {
  /** What must be the same on all instances: `policy`, `key_check` (the secret) and so on. */
  readonly field: string | undefined;
  readonly message: string;
}

export interface ClientStatus {
  readonly connected: boolean;
  readonly epoch: number;
  readonly activeInstances: number;
  readonly pendingCells: number;
  /** Time since the last message from the service; undefined if there was none. */
  readonly msSinceSync: number | undefined;
  readonly gain: number;
  readonly refused: Refusal | undefined;
}

export function refusalOf(error: SynclineError | undefined): Refusal | undefined {
  const field = error?.details['field'];
  return error && { field: typeof field === 'string' ? field : undefined, message: error.message };
}

// What a client counts, under the name of its tracker.

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

// Logs one line when the connection to the shared state changes, and none for each attempt in between: a
// service that is down for a night is two lines, with the number of attempts in the second.

type Condition = 'connected' | 'lost' | 'refused' | 'closed';

/** The events that lose a connection, as the log shows them. */
const REASONS: Partial<Record<ClientEvent, string>> = {
  ended: 'stream ended',
  overdue: 'no reply in time',
  stale: 'shared state restarted',
};

export class ConnectionLog {
  readonly #logger: Logger;
  #condition: Condition | undefined;
  #attempts = 0;
  #hasReportedSkew = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** A stream is opened. Returns whether one was opened before. */
  attempt(): boolean {
    const isAgain = this.#condition !== undefined || this.#attempts > 0;
    this.#attempts += 1;
    return isAgain;
  }

  connected(status: { readonly epoch: number; readonly activeInstances: number }): void {
    const { epoch, activeInstances } = status;
    const attempts = this.#attempts;
    this.#attempts = 0;
    const isBack = this.#condition === 'lost' || this.#condition === 'refused';
    if (!this.#enter('connected')) return;
    const fields = { epoch, activeInstances, attempts };
    // The end of an outage is logged at the same level as its start.
    if (isBack) this.#logger.warn('connection to the fair state service restored', fields);
    else this.#logger.info('connected to the fair state service', fields);
  }

  lost(event: ClientEvent, error: SynclineError | undefined): void {
    if (!this.#enter('lost')) return;
    this.#logger.warn('fair state service unreachable; this instance decides on its own', {
      reason: REASONS[event] ?? event,
      ...(error && { code: error.code, error: error.message }),
    });
  }

  refused(error: SynclineError | undefined): void {
    if (!this.#enter('refused') || error === undefined) return;
    const { code, message, details } = error;
    this.#logger.error(
      'fair state service refused this configuration; this instance decides on its own',
      { code, error: message, field: details['field'] },
    );
  }

  closed(): void {
    if (this.#enter('closed')) this.#logger.info('disconnected from the fair state service');
  }

  /** At most once: otherwise every reconnect would repeat it. */
  skewed(skewMs: number): void {
    if (this.#hasReportedSkew) return;
    this.#hasReportedSkew = true;
    this.#logger.warn('this clock differs greatly from that of the fair state service', { skewMs });
  }

  #enter(condition: Condition): boolean {
    const isChange = this.#condition !== condition;
    this.#condition = condition;
    return isChange;
  }
}
