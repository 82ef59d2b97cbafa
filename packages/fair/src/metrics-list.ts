// Every metric of the fair slice. No label ever holds a flow key.
import type { MetricDefinitions } from '@syncline/kernel';

export const fairMetrics = {
  syncline_fair_decisions_total: {
    kind: 'counter',
    help: 'Requests that were asked for: admitted, throttled, shadow (would have been throttled), allowed (on the allow list), or untracked (without a key).',
    labels: ['tracker', 'decision'],
  },
  syncline_fair_outcomes_total: {
    kind: 'counter',
    help: 'Outcomes that were reported: success, failure or ignore.',
    labels: ['tracker', 'outcome'],
  },
  syncline_fair_client_connected: {
    kind: 'gauge',
    help: '1 while this instance is in step with the shared state.',
    labels: ['tracker'],
  },
  syncline_fair_client_pending_cells: {
    kind: 'gauge',
    help: 'Cells with outcomes that are not acknowledged.',
    labels: ['tracker'],
  },
  syncline_fair_client_gain: {
    kind: 'gauge',
    help: 'What outcomes are multiplied by while the shared state is out of reach; otherwise 1.',
    labels: ['tracker'],
  },
  syncline_fair_client_staleness_seconds: {
    kind: 'gauge',
    help: 'Since the last message from the shared state.',
    labels: ['tracker'],
  },
  syncline_fair_client_clock_skew_seconds: {
    kind: 'gauge',
    help: 'Wall clock of the service less ours, when we last connected.',
    labels: ['tracker'],
  },
  syncline_fair_client_rounds_total: {
    kind: 'counter',
    help: 'Rounds of outcomes that were acked, resent, dropped, or uploaded (with the view, after a restart of the state).',
    labels: ['tracker', 'result'],
  },
  syncline_fair_client_dropped_deltas_total: {
    kind: 'counter',
    help: 'Changes of cells that were given up: budget, rejected, rotated, closed, or view (uploaded on a stream that was cut).',
    labels: ['tracker', 'reason'],
  },
  syncline_fair_client_reconnects_total: {
    kind: 'counter',
    help: 'Streams that were opened again.',
    labels: ['tracker'],
  },
  syncline_fair_client_epoch_changes_total: {
    kind: 'counter',
    help: 'Times that the shared state had started anew.',
    labels: ['tracker'],
  },
  syncline_fair_streams: {
    kind: 'gauge',
    help: 'Streams that are connected to the state service.',
    labels: ['tracker'],
  },
  syncline_fair_streams_behind: {
    kind: 'gauge',
    help: 'Streams whose clients read too slowly, and get the newest values when they can take them.',
    labels: ['tracker'],
  },
  syncline_fair_instances: {
    kind: 'gauge',
    help: 'Live clients of a tracker.',
    labels: ['tracker'],
  },
  syncline_fair_cells: {
    kind: 'gauge',
    help: 'Cells that the state service holds.',
    labels: ['tracker'],
  },
  syncline_fair_seeds: {
    kind: 'gauge',
    help: 'Seeds that the state service holds.',
    labels: ['tracker'],
  },
  syncline_fair_deltas_total: {
    kind: 'counter',
    help: 'Deltas received: applied, duplicate, evicted, future or epoch (of an earlier start).',
    labels: ['tracker', 'result'],
  },
  syncline_fair_rejected_messages_total: {
    kind: 'counter',
    help: 'Messages that were refused and ended their stream, by reason.',
    labels: ['tracker', 'reason'],
  },
  syncline_fair_views_total: {
    kind: 'counter',
    help: 'Views of clients after a restart: joined, or ignored since nobody had asked.',
    labels: ['tracker', 'result'],
  },
  syncline_fair_store_errors_total: {
    kind: 'counter',
    help: 'Operations of the store that failed.',
    labels: ['store'],
  },
  syncline_fair_evicted_cells_total: {
    kind: 'counter',
    help: 'Cells whose seed was too old.',
    labels: ['tracker'],
  },
  syncline_fair_broadcast_rounds_total: {
    kind: 'counter',
    help: 'Rounds of changed cells that were sent.',
    labels: ['tracker'],
  },
  syncline_fair_broadcast_cells_total: {
    kind: 'counter',
    help: 'Cells in those rounds.',
    labels: ['tracker'],
  },
  syncline_fair_broadcast_bytes_total: {
    kind: 'counter',
    help: 'Bytes handed to streams.',
    labels: ['tracker'],
  },
  syncline_fair_coalesced_cells_total: {
    kind: 'counter',
    help: 'Changes of cells that a slow stream never got, since newer values replaced them.',
    labels: ['tracker'],
  },
  syncline_fair_aggregation_seconds: {
    kind: 'histogram',
    help: 'From the receipt of a delta to the hand-over of its broadcast.',
    labels: ['tracker'],
  },
  syncline_fair_persist_seconds: {
    kind: 'histogram',
    help: 'Writes of dirty cells to the embedded store.',
  },
  syncline_fair_redis_connected: {
    kind: 'gauge',
    help: '1 while Redis answers.',
  },
  syncline_fair_redis_queue_cells: {
    kind: 'gauge',
    help: 'Cells that wait for Redis.',
  },
  syncline_fair_redis_update_seconds: {
    kind: 'histogram',
    help: 'Commits of a batch to Redis.',
  },
  syncline_fair_redis_eval_fallbacks_total: {
    kind: 'counter',
    help: 'Scripts that Redis had forgotten and that were sent again.',
  },
  syncline_fair_redis_gaps_total: {
    kind: 'counter',
    help: 'Holes in the stream of changes from Redis, each mended by a fetch.',
  },
} as const satisfies MetricDefinitions;

export type FairMetricName = keyof typeof fairMetrics;
