// Every metric of the jobs. No label ever holds a job, a tag or a task.
import type { MetricDefinitions, Metrics } from '@syncline/kernel';

export const jobsMetrics = {
  syncline_jobs_cache_hits_total: {
    kind: 'counter',
    help: 'Reads that were answered from memory.',
  },
  syncline_jobs_cache_misses_total: {
    kind: 'counter',
    help: 'Reads for which a job had to be brought into memory, or that went to the store behind it.',
  },
  syncline_jobs_listener_reconnects_total: {
    kind: 'counter',
    help: 'Attempts to listen again after a connection was lost.',
  },
  syncline_jobs_replay_duration_seconds: {
    kind: 'histogram',
    help: 'From the first pull of a subscription, or its reset, to the marker `synced`; not of those that resume.',
  },
  syncline_jobs_live_delivery_seconds: {
    kind: 'histogram',
    help: 'From the commit of a change to its hand-over to a live subscriber; of each batch the oldest change.',
  },
  syncline_jobs_write_duration_seconds: {
    kind: 'histogram',
    help: 'From the arrival of a write to its answer.',
  },
  syncline_jobs_write_errors_total: {
    kind: 'counter',
    help: 'Writes that failed, by error code.',
    labels: ['code'],
  },
  syncline_jobs_subscription_drops_total: {
    kind: 'counter',
    help: 'Buffers of subscribers that were dropped, by reason.',
    labels: ['reason'],
  },
  syncline_jobs_version_drift_total: {
    kind: 'counter',
    help: 'Versions that a listener skipped because they were overwritten meanwhile.',
  },
  syncline_jobs_commit_batch_writes: {
    kind: 'histogram',
    help: 'Writes of one commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  },
  syncline_jobs_subscribers: { kind: 'gauge', help: 'Open subscriptions.' },
  syncline_jobs_leases_lost_total: {
    kind: 'counter',
    help: 'Leases that were declared lost.',
  },
  syncline_jobs_fenced_total: {
    kind: 'counter',
    help: 'Calls that were refused because a newer claim had taken over.',
  },
  syncline_jobs_log_records: {
    kind: 'gauge',
    help: 'Changes that are kept, those that later ones replaced included.',
  },
  syncline_jobs_jobs: { kind: 'gauge', help: 'Jobs of the store.' },
  syncline_jobs_write_queue: { kind: 'gauge', help: 'Writes that wait for a commit.' },
  syncline_jobs_cache_bytes: { kind: 'gauge', help: 'Memory that jobs take, about.' },
  syncline_jobs_open_snapshots: { kind: 'gauge', help: 'Views of the storage that are open.' },
} as const satisfies MetricDefinitions;

export type JobsMetricName = keyof typeof jobsMetrics;

/** How a library reports: the same port as the server's. `silentMetrics` by default. */
export type JobsMetrics = Metrics<JobsMetricName>;
