// What a store tells its operators: how long writes take, what they fail with, who was fenced, who was lost.
import type { Clock, Logger, SynclineError } from '@syncline/kernel';
import type { LeaseRef } from '../engine/store-adapter.js';
import type { JobsMetrics } from '../metrics-list.js';
import { timedWrite } from '../timed-write.js';

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
  write<T>(run: () => T | Promise<T>): Promise<T> {
    return timedWrite(this.#deps, run);
  }

  /** Counts a refusal if a newer claim is the reason. */
  refused({ code }: SynclineError): void {
    if (code === 'fenced') this.#deps.metrics.add('syncline_jobs_fenced_total');
  }

  lost({ jobId, taskId, epoch }: LeaseRef, revision: number): void {
    const { logger, metrics } = this.#deps;
    logger.warn('🟡 a task lost its lease', { jobId, taskId, epoch, revision });
    metrics.add('syncline_jobs_leases_lost_total');
  }
}
