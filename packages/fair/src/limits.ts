// Every limit of the fair slice. docs/LIMITS.md is generated from this list.
import { defineLimits } from '@syncline/kernel';

export const fairLimits = defineLimits({
  levelsMax: {
    value: 16,
    unit: 'levels',
    why: 'Levels of a tracker; each is read for every decision. More are refused when the tracker is created.',
  },
  columnsMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Cells per level. More are refused when the tracker is created.',
  },
  cellsMax: {
    value: 262_144,
    unit: 'entries',
    why: 'Levels times columns: 8 MiB for both tables of a tracker. More are refused when the tracker is created.',
  },
  windowMsMin: {
    value: 10_000,
    unit: 'ms',
    why: 'A shorter window would discard what is known about a flow before it is useful.',
  },
  windowMsMax: {
    value: 86_400_000,
    unit: 'ms',
    why: 'Two flows that share all cells are separated at the next window; they should not have to wait longer than a day.',
  },
  keyUnitsHashedMax: {
    value: 4_096,
    unit: 'entries',
    why: 'UTF-16 units, or bytes, of a flow key that are hashed. The rest is ignored, which bounds the cost of long keys.',
  },
  keysCachedMax: {
    value: 4_096,
    unit: 'entries',
    why: 'Keys whose cells a tracker caches. A full cache is cleared.',
  },
  keyUnitsCachedMax: {
    value: 64,
    unit: 'entries',
    why: 'UTF-16 units of a key that is cached. Longer keys are hashed on every call.',
  },
  throttledCallersMax: {
    value: 2_048,
    unit: 'entries',
    why: 'Throttled callers that are counted. Above this limit, all but the most throttled ones are dropped.',
  },
  throttledCallersKept: {
    value: 256,
    unit: 'entries',
    why: 'Throttled callers that are kept when the others are dropped; `tracker.top` returns at most this many.',
  },
  reportedCallersMax: {
    value: 20,
    unit: 'entries',
    why: 'Callers in one report of `startCallerReporter`; the server accepts no more.',
  },
  throttledKeyUnitsMax: {
    value: 128,
    unit: 'entries',
    why: 'UTF-16 units of a key that `tracker.top` keeps; the rest is cut off.',
  },
  allowListKeysMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Keys in an allow list. More are refused when the tracker is created; use a predicate instead.',
  },
  secretBytesMin: {
    value: 16,
    unit: 'bytes',
    why: "A shorter secret could be guessed, which would allow an attacker to construct keys that collide with a victim's.",
  },
  costMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Requests that one call may count as. Values outside (0, 1000] count as 1.',
  },
  elementsPerMessageMax: {
    value: 8_192,
    unit: 'entries',
    why: 'Deltas or buckets in one message. Messages with more are refused; larger responses are split.',
  },
  streamsMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Concurrent streams of the state service. Further ones are refused with RESOURCE_EXHAUSTED.',
  },
  trackersMax: {
    value: 64,
    unit: 'entries',
    why: 'Named trackers of a service, and values of the metric label `tracker`. Further ones are refused.',
  },
  defaultSeedsMax: {
    value: 64,
    unit: 'entries',
    why: 'Seeds in the default tracker. Deltas for further ones are refused.',
  },
  defaultCellsMax: {
    value: 262_144,
    unit: 'entries',
    why: 'Cells in the default tracker across all seeds. A message that would add more is refused.',
  },
  namedCellsMax: {
    value: 4_194_304,
    unit: 'entries',
    why: 'Cells of all named trackers across all live seeds: 128 MiB of memory, allocated for 1,024 cells at a time. A message that needs more is refused.',
  },
  answerBytesPerTurn: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Snapshots and missed cells sent to all streams in one turn of the event loop, a few ms. The rest is sent in later turns.',
  },
  clientIdsMax: {
    value: 4_096,
    unit: 'entries',
    why: 'Clients whose sequence numbers a tracker remembers. Above this limit, the disconnected client that was idle longest is forgotten.',
  },
  nameLengthMax: {
    value: 64,
    unit: 'entries',
    why: 'Characters in a tracker name or client id.',
  },
  persistIntervalMs: {
    value: 1_000,
    unit: 'ms',
    why: 'How often the embedded store writes changed cells. A crash loses about this much.',
  },
  persistBatchCells: {
    value: 500,
    unit: 'entries',
    why: 'Cells per write of the embedded store. Each cell blocks the event loop for 1 to 2 µs.',
  },
  persistPauseMs: {
    value: 5,
    unit: 'ms',
    why: 'Pause between two such writes, so that even the largest tracker leaves most of the time to other work.',
  },
  redisDeltasPerCallMax: {
    value: 500,
    unit: 'entries',
    why: 'Cells that one script call changes; it blocks Redis for about 5 ms. Larger messages become several calls.',
  },
  redisCellsPerReadMax: {
    value: 2_000,
    unit: 'entries',
    why: 'Cells or rows that one call reads; it blocks Redis for about 3 ms. A whole seed is read by several calls in sequence.',
  },
  redisCallTimeoutMs: {
    value: 500,
    unit: 'ms',
    why: 'Timeout of a call to Redis. Its outcome is then unknown, and it is retried with the same sequence number.',
  },
  redisConnectTimeoutMs: {
    value: 2_000,
    unit: 'ms',
    why: 'Timeout for connecting to Redis; the attempt is then retried.',
  },
  redisGapWaitMs: {
    value: 100,
    unit: 'ms',
    why: 'How long a change that arrived out of order waits for its predecessor. Then the seed is read again.',
  },
  redisHeldChangesMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Changes of a seed that wait for an earlier one. Above this limit, they are dropped and the seed is read again.',
  },
  redisInstanceExpiryMs: {
    value: 15_000,
    unit: 'ms',
    why: 'A client that was not seen for this long no longer counts as live.',
  },
  redisClientIdKeptMs: {
    value: 60_000,
    unit: 'ms',
    why: "Minimum time that Redis remembers a client's sequence number; longer than any retry. Above `clientIdsMax`, clients idle for longer are forgotten.",
  },
  grpcConnectTimeoutMs: {
    value: 5_000,
    unit: 'ms',
    why: 'Timeout for connecting a stream of grpcRemote; the attempt is then retried.',
  },
  grpcKeepaliveIntervalMs: {
    value: 30_000,
    unit: 'ms',
    why: "Interval of grpcRemote's keepalive pings on an idle connection.",
  },
  grpcKeepaliveTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A connection that does not answer a ping within this time is considered lost.',
  },
  grpcResponseBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'Size of a message that grpcRemote accepts. The largest that a Syncline server sends has 8,192 cells and 320 KiB.',
  },
  timerMsMax: {
    value: 3_600_000,
    unit: 'ms',
    why: 'Flush interval, retry budget and outage gain delay of a tracker. Larger values are refused when the tracker is created.',
  },
});
