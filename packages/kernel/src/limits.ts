// Every limit of the kernel. docs/LIMITS.md is generated from this list.
import { defineLimits } from './limit.js';

export const kernelLimits = defineLimits({
  feedSubscribersMax: {
    value: 4096,
    unit: 'entries',
    why: 'Subscribers of one feed. Each commit is offered to all of them; one more is refused.',
  },
  feedBufferEventsMax: {
    value: 256,
    unit: 'entries',
    why: 'Changes held for a live subscriber that does not pull. Beyond it the overflow policy decides.',
  },
  feedBufferBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'The same in bytes. A single larger change passes alone.',
  },
  feedBatchEventsMax: {
    value: 512,
    unit: 'entries',
    why: 'Events handed to a subscriber at once, so that one batch does not hold the event loop.',
  },
  feedBatchBytesMax: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'The same in bytes, approximately, so that a subscriber that then stalls holds little. A single larger event passes alone.',
  },
  feedCommitBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'A subscriber that is waiting takes this much of one commit beyond its buffer, and one batch of events: it is not slow.',
  },
  feedViewAgeMaxMs: {
    value: 30_000,
    unit: 'ms',
    why: 'A view of the store is released after this time, so that a stalled replay pins no old data.',
  },
  feedViewStallMs: {
    value: 200,
    unit: 'ms',
    why: 'A view whose reader has not asked for its next page within this time is released if others wait for room.',
  },
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
    why: 'The same in bytes, approximately, so that large values do not pile up in memory.',
  },
  connectTimeoutMs: {
    value: 5_000,
    unit: 'ms',
    why: 'Opening a connection, TLS handshake included. Longer than any sane network needs; then `timeout`.',
  },
  connectionHighWaterBytes: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'Unsent bytes above which `write` returns false: enough to keep a fast link busy, little enough for thousands of slow peers.',
  },
  connectionReadAheadBytes: {
    value: 128 * 1024,
    unit: 'bytes',
    why: 'Read ahead of a reader. Two full reads of the system; beyond it the peer is stopped.',
  },
  sharedReadBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'The buffer that all accepted TCP connections read into. As large as a read of Node.',
  },
  connectionReadAheadChunksMax: {
    value: 64,
    unit: 'entries',
    why: 'The same in chunks, since a peer that sends single bytes costs memory per chunk.',
  },
  keepAliveDelayMs: {
    value: 30_000,
    unit: 'ms',
    why: 'Silence after which the system probes whether the peer is still there.',
  },
  listenerConnectionsMax: {
    value: 10_000,
    unit: 'connections',
    why: 'Default per listener, those in their handshake included. Below the usual limit of open files; further ones are closed at once.',
  },
  tlsHandshakeTimeoutMs: {
    value: 5_000,
    unit: 'ms',
    why: 'For the whole handshake, so that a client that trickles bytes does not keep its slot.',
  },
  storageWriteBufferBytes: {
    value: 8 * 1024 * 1024,
    unit: 'bytes',
    why: 'Held in memory by LevelDB before it writes a table, at worst twice, and the size of its log. It bounds the buffered writes that a power loss can cost, and the time of a reopening.',
  },
  storageCacheBytes: {
    value: 16 * 1024 * 1024,
    unit: 'bytes',
    why: 'Blocks of tables that LevelDB keeps in memory, per store.',
  },
  storageGroupBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Writes that queue up behind another are written together up to this size. A larger batch goes alone.',
  },
  storageQueueBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Batches that wait for the write in flight. More are refused as overloaded; one batch of any size fits alone.',
  },
  storageSliceOperationsMax: {
    value: 4_096,
    unit: 'entries',
    why: 'Operations handed to LevelDB in one turn of the event loop, about a millisecond. The rest of a larger write follows in later turns.',
  },
  storageSliceBytesMax: {
    value: 512 * 1024,
    unit: 'bytes',
    why: 'Keys and values handed to LevelDB in one turn of the event loop; a single value of any size goes at once.',
  },
  storageReopenRoomBytes: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'Free room wanted, beyond what the logs need to become tables, before a store that found its disk full is reopened.',
  },
  appendGatherBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'The parts of one append are copied together up to this size, because one plain write is cheaper than a gathering one. Larger appends are not copied.',
  },
  logRecordBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Body of one record of a segment log. A larger one is refused; it also bounds what a damaged length can make a start hold in memory.',
  },
  logReadChunkBytes: {
    value: 128 * 1024,
    unit: 'bytes',
    why: 'Read at once when a segment log is opened: some milliseconds of replay. Between two chunks the caller can let others run.',
  },
  logIndexStepBytes: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'Distance between the record positions that an open segment log remembers, and so the precision of "bytes since record N".',
  },
  logUnsyncedSegmentsMax: {
    value: 16,
    unit: 'entries',
    why: 'Full segments that wait for a sync and hold a file descriptor each. At this number the newest segment grows instead.',
  },
  logRotationRetryBytes: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'A segment that could not be followed by a new one, for want of descriptors or room, grows by this much before the next attempt.',
  },
  diskReserveStepBytes: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Written at once when a disk reserve is refilled, well below a millisecond.',
  },
  diskReserveRefillMs: {
    value: 1000,
    unit: 'ms',
    why: 'Time between two steps of refilling the reserve, so that a disk that just ran full is not filled by the reserve alone.',
  },
  ownerReadAttemptsMax: {
    value: 25,
    unit: 'attempts',
    why: 'Reads, 20 ms apart, of the file that names the holder of a directory; it is written just after the lock is taken.',
  },
});
