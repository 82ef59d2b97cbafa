// Every metric of the streams. Labels are the names of pipelines, sources, sinks and operators; never keys.
import type { MetricDefinitions, Metrics } from '@syncline/kernel';

const pipeline = ['pipeline'] as const;
const ofUid = ['pipeline', 'uid'] as const;

export const streamsMetrics = {
  syncline_streams_records_in_total: {
    kind: 'counter',
    help: 'Records read from the sources, bad ones included.',
    labels: pipeline,
  },
  syncline_streams_records_out_total: {
    kind: 'counter',
    help: 'Outputs in committed epochs.',
    labels: pipeline,
  },
  syncline_streams_epoch: {
    kind: 'gauge',
    help: 'The last epoch that is durable.',
    labels: pipeline,
  },
  syncline_streams_generation: {
    kind: 'gauge',
    help: 'How often the pipeline was started on its directory.',
    labels: pipeline,
  },
  syncline_streams_checkpoint_seconds: {
    kind: 'histogram',
    help: 'From the barrier of a checkpoint until it was durable.',
    labels: pipeline,
  },
  syncline_streams_checkpoint_pause_seconds: {
    kind: 'histogram',
    help: 'For how long a checkpoint kept processing from going on.',
    labels: pipeline,
  },
  syncline_streams_checkpoint_bytes: {
    kind: 'gauge',
    help: 'Bytes of the last checkpoint.',
    labels: pipeline,
  },
  syncline_streams_checkpoint_age_seconds: {
    kind: 'gauge',
    help: 'Time since the last checkpoint became durable.',
    labels: pipeline,
  },
  syncline_streams_checkpoint_abandoned_total: {
    kind: 'counter',
    help: 'Attempts at an epoch that were given up, by error code.',
    labels: ['pipeline', 'code'],
  },
  syncline_streams_dirty_bytes: {
    kind: 'gauge',
    help: 'Changed state, estimated, that the next checkpoint must encode. Limit: `dirtyBytesMax`.',
    labels: pipeline,
  },
  syncline_streams_state_keys: {
    kind: 'gauge',
    help: 'Keys of each operator and state.',
    labels: ofUid,
  },
  syncline_streams_state_bytes: {
    kind: 'gauge',
    help: 'Stored bytes of each operator and state in memory. Limit: `memoryStateBytesMax`.',
    labels: ofUid,
  },
  syncline_streams_watermark_lag_seconds: {
    kind: 'gauge',
    help: 'How far the watermark is behind the wall clock.',
    labels: pipeline,
  },
  syncline_streams_source_lag_records: {
    kind: 'gauge',
    help: 'Records that the sources know to be waiting.',
    labels: pipeline,
  },
  syncline_streams_idle_partitions: {
    kind: 'gauge',
    help: 'Partitions that do not hold back event time because they are idle.',
    labels: pipeline,
  },
  syncline_streams_late_total: {
    kind: 'counter',
    help: 'Items that arrived behind a watermark or a sealed version.',
    labels: ofUid,
  },
  syncline_streams_older_ignored_total: {
    kind: 'counter',
    help: 'Items that `reorder` ignored because a newer version was there.',
    labels: ofUid,
  },
  syncline_streams_version_conflicts_total: {
    kind: 'counter',
    help: 'Items with another value for a version that was there.',
    labels: ofUid,
  },
  syncline_streams_dead_letters_total: {
    kind: 'counter',
    help: 'Records that went to the dead letters.',
    labels: ofUid,
  },
  syncline_streams_sink_commit_seconds: {
    kind: 'histogram',
    help: 'From the commit point until all sinks had committed and all sources were acknowledged.',
    labels: pipeline,
  },
  syncline_streams_recovery_seconds: {
    kind: 'histogram',
    help: 'From the begin of a recovery until records were read.',
    labels: pipeline,
  },
  syncline_streams_restarts_total: {
    kind: 'counter',
    help: 'Returns to the last durable epoch inside the process, by error code.',
    labels: ['pipeline', 'code'],
  },
} as const satisfies MetricDefinitions;

export type StreamsMetrics = Metrics<keyof typeof streamsMetrics>;
