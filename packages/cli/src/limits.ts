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
});
