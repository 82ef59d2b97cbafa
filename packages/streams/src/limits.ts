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
  partitionsMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Partitions of all sources of a pipeline together. More stop the run.',
  },
  prefetchBatchesMax: {
    value: 2,
    unit: 'entries',
    why: 'Batches that are read ahead per partition. Then its source waits.',
  },
  outputsPerItemMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Items that an operator may emit for one item or timer. More make the item a bad record.',
  },
  dirtyBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Changed state, estimated, that the next checkpoint must encode. Reaching it starts one; if none can start, reading pauses.',
  },
  outboxBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Output of an epoch that waits for its checkpoint. Reaching it starts one; if none can start, reading pauses.',
  },
  outboxPartBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Rows of one part of an outbox, the unit of delivery. One larger row gets a part of its own.',
  },
  memoryStateBytesMax: {
    value: 1024 * 1024 * 1024,
    unit: 'bytes',
    why: "State of a pipeline in memory, as stored. Above it the run stops; use `state: 'embedded'`.",
  },
  timersMax: {
    value: 1_000_000,
    unit: 'entries',
    why: 'Timers of one operator; an index of them is held in memory. More make the item a bad record.',
  },
  finalTimersMax: {
    value: 10_000_000,
    unit: 'entries',
    why: 'Timers of one operator that fire after its input has ended: those that set themselves again would fire for ever.',
  },
  reorderItemsMax: {
    value: 100_000,
    unit: 'entries',
    why: 'Items that one `reorder` holds back. From 80 % on, partitions that are ahead pause.',
  },
  reorderBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Encoded bytes of the items that one `reorder` holds back.',
  },
  dedupeIdsMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Ids that `dedupe` remembers for one key. More make the item a bad record: choose a finer key or a shorter time.',
  },
  windowsPerKeyMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Windows that are open for one key. More make the item a bad record.',
  },
  handleBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'The handle of a prepared transaction, as JSON. It is stored in every checkpoint.',
  },
  deadLetterBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'What a dead letter shows of the record. The rest is cut off.',
  },
  segmentsMergeAt: {
    value: 8,
    unit: 'entries',
    why: 'Segments from which a key group is rewritten whole, while `segmentMergeBytesMax` allows.',
  },
  segmentsMax: {
    value: 32,
    unit: 'entries',
    why: 'Segments of a key group; then it is rewritten regardless.',
  },
  segmentMergeBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'State that one checkpoint rewrites beside its changes, so that none takes much longer than the others.',
  },
  historyEpochsMax: {
    value: 100,
    unit: 'entries',
    why: 'Epochs of which a line of history is kept, for `syncline streams inspect`.',
  },
  automaticSavepointsMax: {
    value: 2,
    unit: 'entries',
    why: 'Automatic savepoints that are kept; older ones are removed. Yours are never removed.',
  },
  checkpointsBufferedMax: {
    value: 64,
    unit: 'entries',
    why: 'Checkpoints that a slow reader of `run.checkpoints()` has not taken yet. Then the oldest is left out.',
  },
  stallWarnMs: {
    value: 30_000,
    unit: 'ms',
    why: 'A partition that is not idle and keeps event time from advancing for longer is named in the progress report.',
  },
  workersMax: {
    value: 64,
    unit: 'entries',
    why: 'Worker threads of a pipeline.',
  },
  conflictValueBytesMax: {
    value: 256,
    unit: 'bytes',
    why: 'What a version conflict shows of each of the two values. The rest is cut off.',
  },
  recordBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'One record of a source. A longer one is a bad record: it fails the run or goes to the dead letters.',
  },
  batchItemsMax: {
    value: 512,
    unit: 'entries',
    why: 'Records that move through the operators together, about a millisecond of work. Sources cut their batches here.',
  },
  batchBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes of the records of one batch, so that prefetched batches stay small. One larger record passes alone.',
  },
  redisConnectTimeoutMs: {
    value: 2_000,
    unit: 'ms',
    why: 'A connection to Redis that is not ready by then is given up; the run tries again with backoff.',
  },
  redisCommandTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A command that Redis has not answered by then is of unknown outcome. The connection is dropped and the command repeated.',
  },
  redisBlockMs: {
    value: 2_000,
    unit: 'ms',
    why: 'How long one XREAD waits for entries, well below the command timeout.',
  },
  redisRowsPerScriptMax: {
    value: 500,
    unit: 'entries',
    why: 'Rows that one script writes: a few milliseconds in which Redis serves no other client. A larger part takes several scripts.',
  },
  natsConnectTimeoutMs: {
    value: 2_000,
    unit: 'ms',
    why: 'A connection to NATS that is not ready by then is given up; the run tries again with backoff.',
  },
  natsPullMs: {
    value: 2_000,
    unit: 'ms',
    why: 'How long one pull waits for messages. Between pulls the source checks that the stream is still the same.',
  },
  natsConsumerIdleMs: {
    value: 60_000,
    unit: 'ms',
    why: 'The server removes a consumer that has not pulled for this long. A source that was held back creates another one.',
  },
  deduplicatorIdsMax: {
    value: 100_000,
    unit: 'entries',
    why: 'Ids that a deduplicator remembers for deliveries out of order, about 10 MB. Older ones are forgotten; `windowIds` changes the number.',
  },
  deduplicatorSinksMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Sinks whose ordered deliveries one deduplicator follows. Further ones are refused.',
  },
});
