// Every limit of the kernel. docs/LIMITS.md is made from this list.
import { defineLimits } from './limit.js';

export const kernelLimits = defineLimits({
  rangeBatchEntriesMax: {
    value: 1024,
    unit: 'entries',
    why: 'One read of a range returns at most this many entries, so that a long scan lets others run.',
  },
  rangeBatchBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'And at most about this many bytes, so that large values do not pile up in memory.',
  },
});
