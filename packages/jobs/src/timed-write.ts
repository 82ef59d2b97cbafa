// Runs one write, times it, and counts its failure by code: the same for a store and for a manager.
import { type Clock, SynclineError } from '@syncline/kernel';
import type { JobsMetrics } from './metrics-list.js';

export interface TimedWriteDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly metrics: JobsMetrics;
}

export async function timedWrite<T>(
  { clock, metrics }: TimedWriteDeps,
  run: () => T | Promise<T>,
): Promise<T> {
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
