// Every limit of the kernel. docs/LIMITS.md is generated from this list.
import { defineLimits } from './limit.js';

export const kernelLimits = defineLimits({
  feedSubscribersMax: {
    value: 4096,
    unit: 'entries',
    why: 'Subscribers of one feed. Further ones are refused.',
  },
  feedBufferEventsMax: {
    value: 256,
    unit: 'entries',
    why: 'Changes buffered for a live subscriber that does not read. Above this limit, the overflow policy applies.',
  },
  feedBufferBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'The same in bytes. A single larger change is still delivered.',
  },
  feedBatchEventsMax: {
    value: 512,
    unit: 'entries',
    why: 'Events delivered to a subscriber in one batch, so that a batch does not block the event loop.',
  },
  feedBatchBytesMax: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'The same in bytes, approximately, which bounds what a stalled subscriber holds. A single larger event is still delivered.',
  },
  feedCommitBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'A subscriber that is waiting for events may receive this much of one commit beyond its buffer, plus one batch: it does not count as slow.',
  },
  feedViewAgeMaxMs: {
    value: 30_000,
    unit: 'ms',
    why: 'A view of the store is released after this time, so that a stalled replay does not pin old data.',
  },
  feedViewStallMs: {
    value: 200,
    unit: 'ms',
    why: 'A view whose reader does not request its next page within this time is released if others are waiting.',
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
    why: 'Timeout for opening a connection, TLS handshake included.',
  },
  connectionHighWaterBytes: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'Unsent bytes above which `write` returns false: enough to keep a fast link busy, little enough for thousands of slow peers.',
  },
  connectionReadAheadBytes: {
    value: 128 * 1024,
    unit: 'bytes',
    why: 'Bytes read ahead of a reader: two full reads of the operating system. Above this limit, reading from the peer pauses.',
  },
  sharedReadBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'The buffer that all accepted TCP connections read into. The size of one read in Node.',
  },
  connectionReadAheadChunksMax: {
    value: 64,
    unit: 'entries',
    why: 'Chunks read ahead of a reader, since each chunk costs memory, even one of a single byte. Above this limit, reading from the peer pauses.',
  },
  keepAliveDelayMs: {
    value: 30_000,
    unit: 'ms',
    why: 'Idle time after which the operating system probes the peer.',
  },
  listenerConnectionsMax: {
    value: 10_000,
    unit: 'connections',
    why: 'Default per listener, including connections in their handshake. Below the usual limit of open files; further connections are closed immediately.',
  },
  tlsHandshakeTimeoutMs: {
    value: 5_000,
    unit: 'ms',
    why: 'Timeout for the whole handshake, so that a slow client does not keep its slot.',
  },
  storageWriteBufferBytes: {
    value: 8 * 1024 * 1024,
    unit: 'bytes',
    why: 'Held in memory by LevelDB before it writes a table, in the worst case twice; also the size of its log. It bounds the buffered writes that a power loss can lose, and the time that reopening takes.',
  },
  storageCacheBytes: {
    value: 16 * 1024 * 1024,
    unit: 'bytes',
    why: 'Size of the block cache of LevelDB, per store.',
  },
  storageGroupBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Writes that queue up behind another are written together up to this size. A larger batch goes alone.',
  },
  storageQueueBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Batches waiting for the write in flight. More are refused as overloaded; a single batch of any size is accepted.',
  },
  storageSliceOperationsMax: {
    value: 4_096,
    unit: 'entries',
    why: 'Operations passed to LevelDB in one turn of the event loop, about a millisecond. The rest of a larger write follows in later turns.',
  },
  storageSliceBytesMax: {
    value: 512 * 1024,
    unit: 'bytes',
    why: 'Keys and values passed to LevelDB in one turn of the event loop; a single value is never split.',
  },
  storageReopenRoomBytes: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'Free space required before a store whose disk was full is reopened, in addition to the space for converting its logs into tables.',
  },
  appendGatherBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'Up to this size, the parts of an append are first copied into one buffer, because write is cheaper than writev. Larger appends are not copied.',
  },
  logRecordBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Body of one record of a segment log. A larger one is refused. This also bounds how much memory a damaged length field can make a start allocate.',
  },
  logReadChunkBytes: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes read at a time when a segment log is opened. Not fewer, because each read takes several turns of the event loop, whatever its size; other work can run between two reads.',
  },
  logIndexStepBytes: {
    value: 256 * 1024,
    unit: 'bytes',
    why: 'Distance between the record positions that an open segment log remembers, and so the precision of "bytes since record N".',
  },
  logUnsyncedSegmentsMax: {
    value: 16,
    unit: 'entries',
    why: 'Full segments that are waiting for a sync, each with an open file descriptor. At this limit, the newest segment grows instead.',
  },
  logRotationRetryBytes: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'If a new segment cannot be created, for lack of file descriptors or space, the current one grows by this much before the next attempt.',
  },
  diskReserveStepBytes: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes written at a time when a disk reserve is refilled; takes well below a millisecond.',
  },
  diskReserveRefillMs: {
    value: 1000,
    unit: 'ms',
    why: 'Time between two steps of refilling the reserve, so that the reserve does not immediately take the space that was just freed.',
  },
  ownerReadAttemptsMax: {
    value: 25,
    unit: 'attempts',
    why: 'Reads, 20 ms apart, of the file that names the holder of a directory; it is written just after the lock is taken.',
  },
});
