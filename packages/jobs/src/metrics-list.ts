// All metrics of jobs. No label ever contains a job, a tag or a task.
import { type Clock, type MetricDefinitions, type Metrics, SynclineError } from '@syncline/kernel';
import { hasCode } from './core/refusals.js';

const counter = (help: string, ...labels: readonly string[]) =>
  ({ kind: 'counter', help, labels }) as const;
const gauge = (help: string) => ({ kind: 'gauge', help }) as const;
const histogram = (help: string) => ({ kind: 'histogram', help }) as const;

export const jobsMetrics = {
  syncline_jobs_cache_hits_total: counter('Reads answered from memory.'),
  syncline_jobs_cache_misses_total: counter('Reads that had to ask the underlying store.'),
  syncline_jobs_listener_reconnects_total: counter('Attempts to reconnect a lost listener.'),
  syncline_jobs_replay_duration_seconds: histogram(
    'Time from the first read of a subscription, or from its reset, to `synced`; resumed subscriptions are not counted.',
  ),
  syncline_jobs_live_delivery_seconds: histogram(
    'Time from the commit of a change to its delivery to a live subscriber; one sample per batch, for its oldest change.',
  ),
  syncline_jobs_write_duration_seconds: histogram('Time from the arrival of a write to its reply.'),
  syncline_jobs_write_errors_total: counter('Failed writes, by error code.', 'code'),
  syncline_jobs_subscription_drops_total: counter(
    'Dropped subscriber buffers, by reason: the overflow policy, or `cancel` for a subscription that ended with events still buffered.',
    'reason',
  ),
  syncline_jobs_version_drift_total: counter('Overwritten versions that a listener skipped.'),
  syncline_jobs_commit_batch_writes: {
    ...histogram('Writes per commit.'),
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  },
  syncline_jobs_subscribers: gauge('Open subscriptions.'),
  syncline_jobs_leases_lost_total: counter('Leases declared lost.'),
  syncline_jobs_fenced_total: counter('Calls refused because of a newer claim.'),
  syncline_jobs_log_records: gauge('Retained changes, including superseded ones.'),
  syncline_jobs_jobs: gauge('Jobs in the store.'),
  syncline_jobs_write_queue: gauge('Writes waiting for a commit.'),
  syncline_jobs_cache_bytes: gauge('Approximate memory used by jobs.'),
  syncline_jobs_open_snapshots: gauge('Open views of the storage.'),
} as const satisfies MetricDefinitions;

export type JobsMetricName = keyof typeof jobsMetrics;

/** The metrics interface, the same as the server's. Default: `silentMetrics`. */
export type JobsMetrics = Metrics<JobsMetricName>;

// Times a write and counts its failure by code, for both stores and managers.

export type TimedWriteDeps = Readonly<{ clock: Pick<Clock, 'monotonicMs'>; metrics: JobsMetrics }>;

export async function timedWrite<T>(
  { clock, metrics }: TimedWriteDeps,
  run: () => T | Promise<T>,
): Promise<T> {
  const startMs = clock.monotonicMs();
  try {
    return await run();
  } catch (thrown) {
    if (thrown instanceof SynclineError)
      metrics.add('syncline_jobs_write_errors_total', 1, { code: thrown.code });
    throw thrown;
  } finally {
    const tookMs = clock.monotonicMs() - startMs;
    metrics.observe('syncline_jobs_write_duration_seconds', tookMs / 1_000);
  }
}

export function countFenced<T>(metrics: JobsMetrics, call: Promise<T>): Promise<T> {
  return call.catch((thrown: unknown) => {
    if (hasCode(thrown, 'fenced')) metrics.add('syncline_jobs_fenced_total');
    throw thrown;
  });
}
