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
    help: 'From the start of a command that had to wait to its reply; commands that run at once are not timed.',
  },
  syncline_sets_operations_total: {
    kind: 'counter',
    help: 'Operations that were applied: made here, or taken from the journal at the start.',
    labels: ['origin'],
  },
  syncline_sets_live_dots: { kind: 'gauge', help: 'Elements of all sets, each counted per dot.' },
  syncline_sets_sets: { kind: 'gauge', help: 'Sets that are not empty.' },
  syncline_sets_head_entries: {
    kind: 'gauge',
    help: 'Changed elements that are not folded yet.',
  },
  syncline_sets_commit_seconds: { kind: 'histogram', help: 'One write of the journal.' },
  syncline_sets_fold_seconds: {
    kind: 'histogram',
    help: 'One batch of a fold, building included.',
  },
  syncline_sets_journal_cut_total: {
    kind: 'counter',
    help: 'Journal records that lay behind a hole at the start and were dropped.',
  },
  syncline_sets_epoch: { kind: 'gauge', help: 'Epoch of this node.' },
  syncline_sets_read_waits_total: {
    kind: 'counter',
    help: 'SYNCLINE.READ commands that had to wait: done, or timeout.',
    labels: ['outcome'],
  },
  syncline_sets_connections: { kind: 'gauge', help: 'RESP connections that stand.' },
  syncline_sets_closed_total: {
    kind: 'counter',
    help: 'RESP connections that were closed by the server, by reason.',
    labels: ['reason'],
  },
  syncline_sets_protocol_errors_total: {
    kind: 'counter',
    help: 'Protocol errors, by kind.',
    labels: ['kind'],
  },
  syncline_sets_cache_bytes: {
    kind: 'gauge',
    help: 'Memory of all elements that are held in memory.',
  },
} as const satisfies MetricDefinitions;
