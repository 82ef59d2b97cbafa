// Every limit of the command line. docs/LIMITS.md is generated from this list.
import { defineLimits } from '@syncline/kernel';

export const cliLimits = defineLimits({
  requestTimeoutMs: {
    value: 5_000,
    unit: 'ms',
    why: 'Request timeout. A server that does not answer within it is considered unreachable.',
  },
  answerBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'Size of a response. Longer ones are not read: they cannot come from a Syncline server.',
  },
  jobAnswerBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Size of a response about one job, with the worst state of each tag. Longer ones are not read.',
  },
  eventBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Approximate size of one event. A larger one closes the connection: it cannot come from a Syncline server.',
  },
  streamSilenceMs: {
    value: 25_000,
    unit: 'ms',
    why: 'An event stream that is silent for this long is considered dead: servers send something every 10 s.',
  },
  reconnectMaxMs: {
    value: 5_000,
    unit: 'ms',
    why: 'Longest delay before `jobs watch` reconnects. The first is a quarter of a second.',
  },
  redrawIntervalMs: {
    value: 100,
    unit: 'ms',
    why: 'Minimum time between two redraws of a table.',
  },
  statusDepthMax: {
    value: 32,
    unit: 'levels',
    why: 'Nesting depth of a `status` response. Deeper ones are refused.',
  },
  statusEntriesMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Entries in each list of a `status` response. Longer ones are refused.',
  },
  statusTextBytesMax: {
    value: 4_096,
    unit: 'bytes',
    why: 'Length of a name or reason in a `status` response. Longer ones are refused.',
  },
  logLineBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'Length of a log line of a node run by `dev`. Longer lines are shown in pieces.',
  },
  devNodesMax: {
    value: 16,
    unit: 'entries',
    why: 'Nodes in a local cluster.',
  },
  evalInstancesMax: {
    value: 64,
    unit: 'entries',
    why: 'Instances that `fair eval` runs in one process.',
  },
  evalSeedsMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Seeds that `fair eval` averages over. More would not change the figures.',
  },
});
