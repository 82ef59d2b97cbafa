// Every limit of the command line. docs/LIMITS.md is made from this list.
import { defineLimits } from '@syncline/kernel';

export const cliLimits = defineLimits({
  requestTimeoutMs: {
    value: 5_000,
    unit: 'ms',
    why: 'A server that has not answered a request by then counts as unreachable.',
  },
  answerBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'An answer that is longer is not read further: it is surely not one of ours.',
  },
  jobAnswerBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'An answer about one job, with the worst state of each tag. A longer one is not read further.',
  },
  eventBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'One event of a stream, about. A longer one is surely not one of ours, and the connection is given up.',
  },
  streamSilenceMs: {
    value: 25_000,
    unit: 'ms',
    why: 'An event stream on which nothing has come for so long is dead: servers say something every 10 s.',
  },
  reconnectMaxMs: {
    value: 5_000,
    unit: 'ms',
    why: 'The longest wait before `jobs watch` tries to connect again. The first is a quarter second.',
  },
  redrawIntervalMs: {
    value: 100,
    unit: 'ms',
    why: 'A table is drawn anew at most this often.',
  },
  statusDepthMax: {
    value: 32,
    unit: 'levels',
    why: 'Values within each other in an answer to `status`. A deeper one is surely not one of ours.',
  },
  statusEntriesMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Entries of each list in an answer to `status`. A longer one is surely not one of ours.',
  },
  statusTextBytesMax: {
    value: 4_096,
    unit: 'bytes',
    why: 'A name or reason in an answer to `status`. A longer one is surely not one of ours.',
  },
  logLineBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'A longer line of a node that `dev` runs is shown in pieces, so that it needs no more memory.',
  },
  devNodesMax: {
    value: 16,
    unit: 'entries',
    why: 'Nodes of a local cluster. The mesh takes as many peers.',
  },
  evalInstancesMax: {
    value: 64,
    unit: 'entries',
    why: 'Instances of a fleet that `fair eval` runs in one process. The goals end there.',
  },
  evalSeedsMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Seeds that `fair eval` takes the mean of. More would not change a shown digit.',
  },
});
