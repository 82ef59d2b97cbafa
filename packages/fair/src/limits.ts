// Every limit of the fair slice. docs/LIMITS.md is made from this list.
import { defineLimits } from '@syncline/kernel';

export const fairLimits = defineLimits({
  levelsMax: {
    value: 16,
    unit: 'levels',
    why: 'Rows of a structure; each is read at every decision. More is refused at construction.',
  },
  columnsMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Cells of a row. More is refused at construction.',
  },
  cellsMax: {
    value: 262_144,
    unit: 'entries',
    why: 'Levels times columns: 8 MiB for the two structures. More is refused at construction.',
  },
  windowMsMin: {
    value: 10_000,
    unit: 'ms',
    why: 'A shorter window would forget a flow before it has learned anything of it.',
  },
  windowMsMax: {
    value: 86_400_000,
    unit: 'ms',
    why: 'Two flows that share their cells are parted at the next window; a day is long enough to wait.',
  },
  keyUnitsHashedMax: {
    value: 4_096,
    unit: 'entries',
    why: 'UTF-16 units, or bytes, of a flow key that are hashed. The rest is ignored, so that a long key costs no more.',
  },
  keysCachedMax: {
    value: 4_096,
    unit: 'entries',
    why: 'Keys whose cells a tracker caches. When the cache is full it starts over, and each key is hashed once more.',
  },
  keyUnitsCachedMax: {
    value: 64,
    unit: 'entries',
    why: 'UTF-16 units of a key that is cached. A longer key is hashed at every call.',
  },
  throttledCallersMax: {
    value: 256,
    unit: 'entries',
    why: 'Callers that `tracker.top` keeps count of. Above this limit a new one replaces the one that was refused least.',
  },
  throttledKeyUnitsMax: {
    value: 128,
    unit: 'entries',
    why: 'UTF-16 units of a key that `tracker.top` keeps; the rest is cut off.',
  },
  allowListKeysMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Keys on an allow list. More is refused at construction; use a predicate.',
  },
  secretBytesMin: {
    value: 16,
    unit: 'bytes',
    why: 'A shorter secret could be guessed, and with it keys that collide with a victim.',
  },
  costMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Requests that one call may count as. Anything outside (0, 1000] counts as 1.',
  },
  elementsPerMessageMax: {
    value: 8_192,
    unit: 'entries',
    why: 'Deltas or buckets of one message, counted while it is decoded. A client that sends more is refused; answers are split.',
  },
  streamsMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Streams of the state service. One more ends with RESOURCE_EXHAUSTED.',
  },
  trackersMax: {
    value: 64,
    unit: 'entries',
    why: 'Named trackers of a service, and values of the metric label `tracker`. One more is refused.',
  },
  defaultSeedsMax: {
    value: 64,
    unit: 'entries',
    why: 'Seeds of the default namespace. A delta for one more is refused.',
  },
  defaultCellsMax: {
    value: 262_144,
    unit: 'entries',
    why: 'Cells of the default namespace over all seeds. A message that would add more is refused.',
  },
  namedCellsMax: {
    value: 4_194_304,
    unit: 'entries',
    why: 'Cells of all named trackers of a service, over all live seeds, for which there is memory: 128 MiB. It is taken for 1,024 at a time, when one of them is touched. A message that needs more is refused.',
  },
  answerBytesPerTurn: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Snapshots and missed cells that all streams get in one turn of the event loop: a few ms. The rest waits for the next one.',
  },
  clientIdsMax: {
    value: 4_096,
    unit: 'entries',
    why: 'Clients whose sequence numbers a tracker remembers. The longest idle disconnected one is forgotten.',
  },
  nameLengthMax: {
    value: 64,
    unit: 'entries',
    why: 'Characters of a tracker name or a client id.',
  },
  persistIntervalMs: {
    value: 1_000,
    unit: 'ms',
    why: 'How often the embedded store writes the cells that changed. A crash loses about as much.',
  },
  persistBatchCells: {
    value: 500,
    unit: 'entries',
    why: 'Cells of one write of the embedded store: each costs 1 to 2 µs in which nothing else runs.',
  },
  persistPauseMs: {
    value: 5,
    unit: 'ms',
    why: 'Between two such writes, so that even the largest tracker leaves most of the time to others.',
  },
  redisDeltasPerCallMax: {
    value: 500,
    unit: 'entries',
    why: 'Cells that one call of the script changes: about 5 ms in which Redis serves nobody else. A larger message becomes several calls.',
  },
  redisCellsPerReadMax: {
    value: 2_000,
    unit: 'entries',
    why: 'Cells, or rows, that one call reads: about 3 ms of Redis. A whole seed is read in as many calls as it takes, one after another.',
  },
  redisCallTimeoutMs: {
    value: 500,
    unit: 'ms',
    why: 'A call to Redis that is not answered by then is of unknown outcome, and repeated under its sequence number.',
  },
  redisConnectTimeoutMs: {
    value: 2_000,
    unit: 'ms',
    why: 'A connection to Redis that does not stand by then is tried anew.',
  },
  redisGapWaitMs: {
    value: 100,
    unit: 'ms',
    why: 'How long a change that was published out of turn waits for the one before it. Then the seed is read again.',
  },
  redisHeldChangesMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Changes of a seed that wait for an earlier one. Beyond, they are dropped and the seed is read again.',
  },
  redisInstanceExpiryMs: {
    value: 15_000,
    unit: 'ms',
    why: 'A client that no service or instance has named for so long does not count as live.',
  },
  redisClientIdKeptMs: {
    value: 60_000,
    unit: 'ms',
    why: 'How long Redis remembers the sequence number of a client at least: longer than it is sent again. Beyond `clientIdsMax` those idle for longer are forgotten.',
  },
  grpcConnectTimeoutMs: {
    value: 5_000,
    unit: 'ms',
    why: 'A stream of grpcRemote that has no connection by then is given up, and opened anew.',
  },
  grpcKeepaliveIntervalMs: {
    value: 30_000,
    unit: 'ms',
    why: 'How often grpcRemote asks a silent connection whether it is still there.',
  },
  grpcKeepaliveTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A connection that has not answered by then counts as lost.',
  },
  grpcResponseBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'A message that grpcRemote takes. The largest of a Syncline server has 8 192 cells and 320 KiB.',
  },
  timerMsMax: {
    value: 3_600_000,
    unit: 'ms',
    why: 'Flush interval, retry budget and wait for the outage gain of a tracker. More is refused at construction.',
  },
});
