// Every metric of the fair slice. No label ever holds a flow key.
import type { MetricDefinitions } from '@syncline/kernel';

export const fairMetrics = {
  syncline_fair_decisions_total: {
    kind: 'counter',
    help: 'Decisions by kind: admitted, throttled, shadow (would have been throttled), allowed (on the allow list), or untracked (without a key).',
    labels: ['tracker', 'decision'],
  },
  syncline_fair_outcomes_total: {
    kind: 'counter',
    help: 'Reported outcomes: success, failure or ignore.',
    labels: ['tracker', 'outcome'],
  },
  syncline_fair_client_connected: {
    kind: 'gauge',
    help: '1 if this instance is connected to the shared state.',
    labels: ['tracker'],
  },
  syncline_fair_client_pending_cells: {
    kind: 'gauge',
    help: 'Cells with unacknowledged outcomes.',
    labels: ['tracker'],
  },
  syncline_fair_client_gain: {
    kind: 'gauge',
    help: 'Factor applied to outcomes while the shared state is unreachable; otherwise 1.',
    labels: ['tracker'],
  },
  syncline_fair_client_staleness_seconds: {
    kind: 'gauge',
    help: 'Time since the last message from the shared state.',
    labels: ['tracker'],
  },
  syncline_fair_client_clock_skew_seconds: {
    kind: 'gauge',
    help: 'Clock of the service minus clock of this instance, at the last connect.',
    labels: ['tracker'],
  },
  syncline_fair_client_rounds_total: {
    kind: 'counter',
    help: 'Batches of outcomes, by result: acked, resent, dropped, or uploaded (with the view, after a service restart).',
    labels: ['tracker', 'result'],
  },
  syncline_fair_client_dropped_deltas_total: {
    kind: 'counter',
    help: 'Dropped changes to cells, by reason: budget, rejected, rotated, closed, or view (uploaded on a stream that broke).',
    labels: ['tracker', 'reason'],
  },
  syncline_fair_client_reconnects_total: {
    kind: 'counter',
    help: 'Reconnected streams.',
    labels: ['tracker'],
  },
  syncline_fair_client_epoch_changes_total: {
    kind: 'counter',
    help: 'Number of times that the shared state was found to have lost its earlier content.',
    labels: ['tracker'],
  },
  syncline_fair_streams: {
    kind: 'gauge',
    help: 'Streams connected to the state service.',
    labels: ['tracker'],
  },
  syncline_fair_streams_behind: {
    kind: 'gauge',
    help: 'Streams whose clients read too slowly. They receive only the newest values.',
    labels: ['tracker'],
  },
  syncline_fair_instances: {
    kind: 'gauge',
    help: 'Live clients of a tracker.',
    labels: ['tracker'],
  },
  syncline_fair_cells: {
    kind: 'gauge',
    help: 'Cells stored by the state service.',
    labels: ['tracker'],
  },
  syncline_fair_seeds: {
    kind: 'gauge',
    help: 'Seeds stored by the state service.',
    labels: ['tracker'],
  },
  syncline_fair_deltas_total: {
    kind: 'counter',
    help: 'Deltas received, by result: applied, duplicate, evicted, future, or epoch (of an earlier epoch).',
    labels: ['tracker', 'result'],
  },
  syncline_fair_rejected_messages_total: {
    kind: 'counter',
    help: 'Rejected messages, which end their stream, by reason.',
    labels: ['tracker', 'reason'],
  },
  syncline_fair_views_total: {
    kind: 'counter',
    help: 'Views uploaded by clients after a restart: joined (merged), or ignored because none was requested.',
    labels: ['tracker', 'result'],
  },
  syncline_fair_store_errors_total: {
    kind: 'counter',
    help: 'Failed store operations.',
    labels: ['store'],
  },
  syncline_fair_evicted_cells_total: {
    kind: 'counter',
    help: 'Cells evicted because their seed was too old.',
    labels: ['tracker'],
  },
  syncline_fair_broadcast_rounds_total: {
    kind: 'counter',
    help: 'Broadcasts of changed cells.',
    labels: ['tracker'],
  },
  syncline_fair_broadcast_cells_total: {
    kind: 'counter',
    help: 'Cells in those broadcasts.',
    labels: ['tracker'],
  },
  syncline_fair_broadcast_bytes_total: {
    kind: 'counter',
    help: 'Bytes written to streams.',
    labels: ['tracker'],
  },
  syncline_fair_coalesced_cells_total: {
    kind: 'counter',
    help: 'Changes not sent to a slow stream because newer values replaced them.',
    labels: ['tracker'],
  },
  syncline_fair_aggregation_seconds: {
    kind: 'histogram',
    help: 'Time from receiving a delta to broadcasting it.',
    labels: ['tracker'],
  },
  syncline_fair_persist_seconds: {
    kind: 'histogram',
    help: 'Duration of a write of changed cells to the embedded store.',
  },
  syncline_fair_redis_connected: {
    kind: 'gauge',
    help: '1 if Redis is reachable.',
  },
  syncline_fair_redis_queue_cells: {
    kind: 'gauge',
    help: 'Cells waiting to be written to Redis.',
  },
  syncline_fair_redis_update_seconds: {
    kind: 'histogram',
    help: 'Duration of a batch commit to Redis.',
  },
  syncline_fair_redis_eval_fallbacks_total: {
    kind: 'counter',
    help: 'Scripts that were missing in Redis and had to be sent again.',
  },
  syncline_fair_redis_gaps_total: {
    kind: 'counter',
    help: 'Gaps in the stream of changes from Redis, each repaired by a read.',
  },
} as const satisfies MetricDefinitions;

export type FairMetricName = keyof typeof fairMetrics;
