// Every limit of the kernel. docs/LIMITS.md is made from this list.
import { defineLimits } from './limit.js';

export const kernelLimits = defineLimits({
  versionVectorEntriesMax: {
    value: 4096,
    unit: 'entries',
    why: 'Actors in one version vector from the wire: 16 nodes with 256 unclean starts each. More is refused.',
  },
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
