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
    why: 'Size of a bigint key or version: 256 bits hold any hash or ledger number. Larger ones are refused.',
  },
  originBytesMax: {
    value: 1_024,
    unit: 'bytes',
    why: 'Origin of a logical time in UTF-8, such as the name of a partition. Longer ones are refused.',
  },
  valueBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'One value, encoded. A larger one is refused: split it over several keys. The state that operators keep for a key has its own limits.',
  },
  jsonDepthMax: {
    value: 100,
    unit: 'levels',
    why: 'Nesting depth of objects and arrays in a JSON value. Deeper ones, and cycles, are refused.',
  },
  keyGroupsMax: {
    value: 32_768,
    unit: 'entries',
    why: 'Key groups of a state, the unit in which keys move between workers. More are refused.',
  },
  blockBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'Entries of one snapshot block, so that damage is detected, and memory needed, block by block. A larger entry gets its own block.',
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
    value: 2_048,
    unit: 'entries',
    why: 'Entries that are encoded or decoded in one turn of the event loop, about a millisecond.',
  },
  sliceBytesMax: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'Bytes that are encoded or decoded in one turn of the event loop; a larger entry is processed alone.',
  },
  partitionsMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Partitions of all sources of a pipeline together. With more, the run stops.',
  },
  prefetchBatchesMax: {
    value: 2,
    unit: 'entries',
    why: 'Batches that are read ahead per partition. Above this limit, its source waits.',
  },
  outputsPerItemMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Items that an operator may emit for one item or timer. If it emits more, the item is a bad record.',
  },
  dirtyBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Estimated size of the changed state that the next checkpoint must encode. Reaching it starts a checkpoint; if none can start, reading pauses.',
  },
  outboxBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Output of an epoch that is waiting for its checkpoint. Reaching it starts a checkpoint; if none can start, reading pauses.',
  },
  checkpointTimeoutMs: {
    value: 60_000,
    unit: 'ms',
    why: 'Time from the barrier to the commit point. A checkpoint that takes longer is abandoned and retried. `checkpoint.timeoutMs` replaces it.',
  },
  outboxPartBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Rows of one part of an outbox, the unit of delivery. A larger row gets its own part.',
  },
  memoryStateBytesMax: {
    value: 1024 * 1024 * 1024,
    unit: 'bytes',
    why: "State of a pipeline in memory, as stored. Above it the run stops; use `state: 'embedded'`.",
  },
  timersMax: {
    value: 1_000_000,
    unit: 'entries',
    why: 'Timers of one operator; an index of them is held in memory. An item that would add more is a bad record.',
  },
  finalTimersMax: {
    value: 10_000_000,
    unit: 'entries',
    why: 'Timers of one operator that fire after its input has ended: timers that reschedule themselves would fire forever.',
  },
  reorderItemsMax: {
    value: 100_000,
    unit: 'entries',
    why: 'Items that one `reorder` holds back. From 80% on, partitions that are ahead pause.',
  },
  reorderBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Encoded bytes of the items that one `reorder` holds back.',
  },
  dedupeIdsMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Ids that `dedupe` remembers for one key. An item that would add more is a bad record: choose a finer key or a shorter time.',
  },
  windowsPerKeyMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Open windows per key. An item that would open more is a bad record.',
  },
  handleBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'The handle of a prepared transaction, as JSON. It is stored in every checkpoint.',
  },
  deadLetterBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'How much of the record a dead letter contains. The rest is truncated.',
  },
  segmentsMergeAt: {
    value: 8,
    unit: 'entries',
    why: 'Number of segments at which a key group is rewritten as a whole, if `segmentMergeBytesMax` allows.',
  },
  segmentsMax: {
    value: 32,
    unit: 'entries',
    why: 'Number of segments at which a key group is rewritten in any case.',
  },
  segmentMergeBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'State that one checkpoint rewrites in addition to its changes, so that none takes much longer than the others.',
  },
  historyEpochsMax: {
    value: 100,
    unit: 'entries',
    why: 'Epochs kept in the history that `syncline streams inspect` shows.',
  },
  automaticSavepointsMax: {
    value: 2,
    unit: 'entries',
    why: 'Automatic savepoints that are kept; older ones are removed. Savepoints that you create are never removed.',
  },
  checkpointsBufferedMax: {
    value: 64,
    unit: 'entries',
    why: 'Checkpoints buffered for a slow reader of `run.checkpoints()`. Above this limit, the oldest is dropped.',
  },
  stallWarnMs: {
    value: 30_000,
    unit: 'ms',
    why: 'A partition that is not idle and keeps event time from advancing for longer is named in the progress report.',
  },
  workersMax: {
    value: 64,
    unit: 'entries',
    why: 'Worker threads of a pipeline. More are refused.',
  },
  channelBatchesMax: {
    value: 8,
    unit: 'entries',
    why: 'Batches from one worker to another, per `keyBy`, that are in flight or waiting to be processed. Above this limit, the sender stops reading.',
  },
  alignTimeoutMs: {
    value: 30_000,
    unit: 'ms',
    why: 'If a worker has not sent its part of a checkpoint by then, the checkpoint is abandoned, and all workers restart from the last one.',
  },
  workerRestartsMax: {
    value: 5,
    unit: 'entries',
    why: 'Restarts of the workers without a checkpoint in between. Above this limit, the run fails with the reason for the last restart.',
  },
  conflictValueBytesMax: {
    value: 256,
    unit: 'bytes',
    why: 'How much of each of the two values a version conflict shows. The rest is truncated.',
  },
  recordBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'One record of a source. A longer one is a bad record: it fails the run or goes to the dead letters.',
  },
  batchItemsMax: {
    value: 512,
    unit: 'entries',
    why: 'Records that move through the operators together, about a millisecond of work. Sources split their batches at this size.',
  },
  batchBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes of the records of one batch, so that prefetched batches stay small. A larger record gets its own batch.',
  },
  redisConnectTimeoutMs: {
    value: 2_000,
    unit: 'ms',
    why: 'Timeout for connecting to Redis; the run retries with backoff.',
  },
  redisCommandTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'If Redis has not answered a command by then, its outcome is unknown. The connection is closed and the command is repeated.',
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
    why: 'Timeout for connecting to NATS; the run retries with backoff.',
  },
  natsPullMs: {
    value: 2_000,
    unit: 'ms',
    why: 'How long one pull waits for messages. Between pulls the source checks that the stream is still the same.',
  },
  natsConsumerIdleMs: {
    value: 60_000,
    unit: 'ms',
    why: 'The server removes a consumer that has not pulled for this long. A source that was paused for longer creates a new one.',
  },
  deduplicatorIdsMax: {
    value: 100_000,
    unit: 'entries',
    why: 'Ids that a deduplicator remembers for out-of-order deliveries, about 10 MB. Older ones are forgotten; set `windowIds` to change the number.',
  },
  deduplicatorSinksMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Sinks whose ordered deliveries one deduplicator follows. Further ones are refused.',
  },
});
