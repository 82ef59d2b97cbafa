// What a store tells its operators: how long writes take, what they fail with, who was fenced, who was lost.
import { type Clock, type Logger, SynclineError } from '@syncline/kernel';
import type { WatchedLease } from './leases/lease-watch.js';
import type { JobsMetrics } from './metrics-list.js';

export interface StoreReportsDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
}

export class StoreReports {
  readonly #deps: StoreReportsDeps;

  constructor(deps: StoreReportsDeps) {
    this.#deps = deps;
  }

  /** Runs one write, times it, and counts its failure by code. */
  async write<T>(run: () => T | Promise<T>): Promise<T> {
    const { clock, metrics } = this.#deps;
    const startMs = clock.monotonicMs();
    try {
      return await run();
    } catch (thrown) {
      if (thrown instanceof SynclineError) {
        metrics.add('syncline_jobs_write_errors_total', 1, { code: thrown.code });
      }
      throw thrown;
    } finally {
      const tookMs = clock.monotonicMs() - startMs;
      metrics.observe('syncline_jobs_write_duration_seconds', tookMs / 1_000);
    }
  }

  /** Counts a refusal if a newer claim is the reason. */
  refused({ code }: SynclineError): void {
    if (code === 'fenced') this.#deps.metrics.add('syncline_jobs_fenced_total');
  }

  lost({ jobId, taskId, epoch }: WatchedLease, revision: number): void {
    const { logger, metrics } = this.#deps;
    logger.warn('🟡 a task lost its lease', { jobId, taskId, epoch, revision });
    metrics.add('syncline_jobs_leases_lost_total');
  }
}
