// Every metric of the streams. Labels are the names of pipelines, sources, sinks and operators; never keys.
import type { MetricDefinitions, Metrics } from '@syncline/kernel';

const pipeline = ['pipeline'] as const;
const ofUid = ['pipeline', 'uid'] as const;

export const streamsMetrics = {
  syncline_streams_records_in_total: {
    kind: 'counter',
    help: 'Records read from the sources, including bad ones.',
    labels: pipeline,
  },
  syncline_streams_records_out_total: {
    kind: 'counter',
    help: 'Outputs in committed epochs.',
    labels: pipeline,
  },
  syncline_streams_epoch: {
    kind: 'gauge',
    help: 'The last durable epoch.',
    labels: pipeline,
  },
  syncline_streams_generation: {
    kind: 'gauge',
    help: 'How many times the pipeline has been started on its directory.',
    labels: pipeline,
  },
  syncline_streams_checkpoint_seconds: {
    kind: 'histogram',
    help: 'Time from the barrier of a checkpoint until it is durable.',
    labels: pipeline,
  },
  syncline_streams_checkpoint_pause_seconds: {
    kind: 'histogram',
    help: 'How long a checkpoint paused processing.',
    labels: pipeline,
  },
  syncline_streams_checkpoint_bytes: {
    kind: 'gauge',
    help: 'Size of the last checkpoint.',
    labels: pipeline,
  },
  syncline_streams_checkpoint_age_seconds: {
    kind: 'gauge',
    help: 'Time since the last checkpoint became durable.',
    labels: pipeline,
  },
  syncline_streams_checkpoint_abandoned_total: {
    kind: 'counter',
    help: 'Abandoned attempts at an epoch, by error code.',
    labels: ['pipeline', 'code'],
  },
  syncline_streams_dirty_bytes: {
    kind: 'gauge',
    help: 'Estimated size of the changed state that the next checkpoint must encode. Limit: `dirtyBytesMax`.',
    labels: pipeline,
  },
  syncline_streams_state_keys: {
    kind: 'gauge',
    help: 'Keys per operator and state.',
    labels: ofUid,
  },
  syncline_streams_state_bytes: {
    kind: 'gauge',
    help: 'Bytes in memory per operator and state. Limit: `memoryStateBytesMax`.',
    labels: ofUid,
  },
  syncline_streams_watermark_lag_seconds: {
    kind: 'gauge',
    help: 'How far the watermark is behind the wall clock.',
    labels: pipeline,
  },
  syncline_streams_source_lag_records: {
    kind: 'gauge',
    help: 'Records known to be waiting at the sources.',
    labels: pipeline,
  },
  syncline_streams_idle_partitions: {
    kind: 'gauge',
    help: 'Idle partitions, which do not hold back event time.',
    labels: pipeline,
  },
  syncline_streams_late_total: {
    kind: 'counter',
    help: 'Items that arrived after the watermark or a sealed version had passed them.',
    labels: ofUid,
  },
  syncline_streams_older_ignored_total: {
    kind: 'counter',
    help: 'Items that `reorder` ignored because a newer version existed.',
    labels: ofUid,
  },
  syncline_streams_version_conflicts_total: {
    kind: 'counter',
    help: 'Items with a different value for an existing version.',
    labels: ofUid,
  },
  syncline_streams_dead_letters_total: {
    kind: 'counter',
    help: 'Records written as dead letters.',
    labels: ofUid,
  },
  syncline_streams_sink_commit_seconds: {
    kind: 'histogram',
    help: 'Time from the commit point until all sinks have committed and all sources are acknowledged.',
    labels: pipeline,
  },
  syncline_streams_sink_uncommitted_epochs: {
    kind: 'gauge',
    help: 'Durable epochs whose output the sinks have not committed yet: 1 while a commit is in progress or fails.',
    labels: pipeline,
  },
  syncline_streams_outbox_bytes: {
    kind: 'gauge',
    help: 'Output in the checkpoint store that is not part of a checkpoint yet. Limit: `outboxBytesMax`.',
    labels: pipeline,
  },
  syncline_streams_reorder_items: {
    kind: 'gauge',
    help: 'Items waiting until their version is sealed. Limit: `reorderItemsMax`.',
    labels: ofUid,
  },
  syncline_streams_released_early_total: {
    kind: 'counter',
    help: 'Items that a full `reorder` has released before their version was sealed (`onFull: "release"`).',
    labels: ofUid,
  },
  syncline_streams_recovery_seconds: {
    kind: 'histogram',
    help: 'Time from the start of a recovery until the first read.',
    labels: pipeline,
  },
  syncline_streams_restarts_total: {
    kind: 'counter',
    help: 'Restarts from the last durable epoch within the process, by error code.',
    labels: ['pipeline', 'code'],
  },
} as const satisfies MetricDefinitions;

export type StreamsMetrics = Metrics<keyof typeof streamsMetrics>;
