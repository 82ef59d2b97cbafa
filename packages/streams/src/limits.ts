// Every limit of the streams. docs/LIMITS.md is generated from this list.
import { defineLimits } from '@syncline/kernel';

export const streamsLimits = defineLimits({
  keyBytesMax: {
    value: 1_024,
    unit: 'bytes',
    why: 'A string key in UTF-8. Longer keys are refused: hash them first.',
  },
  bigintBytesMax: {
    value: 32,
    unit: 'bytes',
    why: 'Magnitude of a bigint key or version: 256 bits hold any hash or ledger number. Larger ones are refused.',
  },
  originBytesMax: {
    value: 1_024,
    unit: 'bytes',
    why: 'Origin of a logical time in UTF-8, such as the name of a partition. Longer ones are refused.',
  },
  valueBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'One value, encoded. A larger one is refused: split it over several keys.',
  },
  jsonDepthMax: {
    value: 100,
    unit: 'levels',
    why: 'Objects and arrays inside each other in a JSON value. Deeper ones, and cycles, are refused.',
  },
  keyGroupsMax: {
    value: 32_768,
    unit: 'entries',
    why: 'Key groups of a state, the unit in which keys move between workers. More are refused.',
  },
  blockBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'Entries of one snapshot block, so that damage is found and memory is needed block by block. One larger entry gets a block of its own.',
  },
  snapshotBytesMax: {
    value: 512 * 1024 * 1024,
    unit: 'bytes',
    why: 'A snapshot is built in memory. Larger ones are refused; the default of `snapshotBytesMax` can be changed.',
  },
  cacheBytesMax: {
    value: 256 * 1024 * 1024,
    unit: 'bytes',
    why: 'Cells that an embedded state holds in memory, roughly as heap bytes. Clean ones are evicted; when unflushed changes fill it, writes are refused until a flush completes.',
  },
  tombstonesMax: {
    value: 1_000_000,
    unit: 'entries',
    why: 'Tombstones of one embedded state; their keys and versions are held in memory so that `prune` need not read the disk. Further deletes are refused until old ones are pruned.',
  },
  sliceEntriesMax: {
    value: 512,
    unit: 'entries',
    why: 'Entries that are encoded or decoded in one turn of the event loop, about a millisecond.',
  },
  sliceBytesMax: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'Bytes that are encoded or decoded in one turn of the event loop; one larger entry passes alone.',
  },
  conflictValueBytesMax: {
    value: 256,
    unit: 'bytes',
    why: 'What a version conflict shows of each of the two values. The rest is cut off.',
  },
});
