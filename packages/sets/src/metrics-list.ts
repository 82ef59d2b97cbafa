// Every metric of the sets. No label ever holds a key or a member.
import type { MetricDefinitions } from '@syncline/kernel';

export const setsMetrics = {
  syncline_sets_commands_total: {
    kind: 'counter',
    help: 'Commands that ran, by their name in the command table.',
    labels: ['command'],
  },
  syncline_sets_command_seconds: {
    kind: 'histogram',
    help: 'Time from start to reply of commands that had to wait; commands that run immediately are not measured.',
  },
  syncline_sets_operations_total: {
    kind: 'counter',
    help: 'Operations applied, by origin: local, received from a peer (peer), or replayed at startup (log).',
    labels: ['origin'],
  },
  syncline_sets_live_dots: { kind: 'gauge', help: 'Elements of all sets, counted per dot.' },
  syncline_sets_sets: { kind: 'gauge', help: 'Non-empty sets.' },
  syncline_sets_memory_bytes: { kind: 'gauge', help: 'Memory used by elements, sets and pins.' },
  syncline_sets_log_bytes: { kind: 'gauge', help: 'Size of the log on disk.' },
  syncline_sets_log_append_seconds: {
    kind: 'histogram',
    help: 'Duration of one append to the log.',
    buckets: [1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 1e-3, 1e-2, 0.1, 1],
  },
  syncline_sets_log_sync_seconds: { kind: 'histogram', help: 'Duration of one sync of the log.' },
  syncline_sets_log_cut_bytes_total: {
    kind: 'counter',
    help: 'Bytes dropped from the end of the log at startup, from the first damaged record on.',
  },
  syncline_sets_checkpoint_seconds: {
    kind: 'histogram',
    help: 'Duration of one checkpoint.',
    buckets: [0.01, 0.1, 0.5, 1, 5, 10, 60, 300],
  },
  syncline_sets_checkpoint_bytes: { kind: 'gauge', help: 'Size of the last checkpoint.' },
  syncline_sets_checkpoint_age_seconds: {
    kind: 'gauge',
    help: 'Time since the last checkpoint; 0 when there is none.',
  },
  syncline_sets_pins: { kind: 'gauge', help: 'Open pins: long reads and checkpoints.' },
  syncline_sets_pin_entries: {
    kind: 'gauge',
    help: 'Removed elements that open pins still hold.',
  },
  syncline_sets_epoch: { kind: 'gauge', help: 'Epoch of this node.' },
  syncline_sets_pulls_total: {
    kind: 'counter',
    help: 'Pulls by this node, by trigger and outcome. Periodic pulls are skipped while pushes deliver everything.',
    labels: ['trigger', 'outcome'],
  },
  syncline_sets_pull_seconds: {
    kind: 'histogram',
    help: 'Duration of one pull.',
    buckets: [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 60, 300],
  },
  syncline_sets_pull_bytes_total: {
    kind: 'counter',
    help: 'Bytes sent in pulls by this node and by peers, by kind of message.',
    labels: ['kind'],
  },
  syncline_sets_pull_symbols_total: {
    kind: 'counter',
    help: 'Symbols decoded to find missed removes.',
  },
  syncline_sets_pull_dots_total: {
    kind: 'counter',
    help: 'Dots that pulls added or removed on this node.',
    labels: ['kind'],
  },
  syncline_sets_divergence_total: {
    kind: 'counter',
    help: 'Pulls that found a peer with the same version but different sets: a bug or a damaged disk.',
  },
  syncline_sets_read_waits_total: {
    kind: 'counter',
    help: 'SYNCLINE.READ commands that had to wait, by outcome: done or timeout.',
    labels: ['outcome'],
  },
  syncline_sets_connections: { kind: 'gauge', help: 'Open RESP connections.' },
  syncline_sets_closed_total: {
    kind: 'counter',
    help: 'RESP connections closed by the server, by reason.',
    labels: ['reason'],
  },
  syncline_sets_protocol_errors_total: {
    kind: 'counter',
    help: 'Protocol errors, by kind.',
    labels: ['kind'],
  },
} as const satisfies MetricDefinitions;
