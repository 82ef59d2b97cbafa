// All limits of jobs. docs/LIMITS.md is generated from this list.
import { defineLimits, type Limit } from '@syncline/kernel';

/** A value, its unit, and why it was chosen or what happens above it. */
const limit = (unit: Limit['unit']) => (value: number, why: string) => ({ value, unit, why });
const bytes = limit('bytes');
const entries = limit('entries');
const ms = limit('ms');
const MIB = 1024 * 1024;

export const jobsLimits = defineLimits({
  jobIdLengthMax: bytes(128, 'Name of a job. A longer one is refused.'),
  tagBytesMax: bytes(128, 'Name of a tag, in UTF-8. A longer one is refused.'),
  eventIdLengthMax: bytes(64, 'Identity of a write. A longer one is refused.'),
  holderLengthMax: bytes(128, 'Name of the holder of a lease. A longer one is refused.'),
  messageBytesMax: bytes(4_096, 'Message of a state. setError and setWarning truncate it.'),
  payloadBytesMax: bytes(65_536, 'Payload of a state, as JSON. A larger one is refused.'),
  payloadDepthMax: entries(16, 'Nesting depth of a payload. A deeper one is refused.'),
  requestBytesMax: bytes(131_072, 'One request to the job service. A larger one is refused.'),
  writeStreamBytesMax: bytes(
    262_144,
    'Unanswered writes on one stream. The remote store makes further ones wait; the server ends a stream with twice as much.',
  ),
  writeStreamsPerConnectionMax: entries(8, 'Write streams on one connection. More are refused.'),
  writeAnswersBytesMax: bytes(MIB, 'Unsent replies on one write stream. Further writes wait.'),
  writeStreamIdleMs: ms(1_000, 'The remote store ends a write stream that is idle this long.'),
  remoteWritesMax: entries(65_536, 'Unsent writes of a remote store. More are refused.'),
  remoteWritesBytesMax: bytes(32 * MIB, 'The same in bytes.'),
  labelsMax: entries(16, 'Labels of a job. More are refused.'),
  labelNameBytesMax: bytes(64, 'Name of a label. A longer one is refused.'),
  labelValueBytesMax: bytes(256, 'Value of a label. A longer one is refused.'),
  tasksPerJobMax: entries(100_000, 'Tasks of a job. More are refused.'),
  tagsPerJobMax: entries(256, 'Tags of a job, including expected ones. More are refused.'),
  statesPerJobMax: entries(1_000_000, 'States of a job. A write that would add one is refused.'),
  jobsMax: entries(10_000, 'Jobs of a store. A further one is refused.'),
  subscribersPerJobMax: entries(2_048, 'Subscribers of one job. A further one is refused.'),
  subscribersMax: entries(4_096, 'Subscribers of one store. A further one is refused.'),
  bufferEventsMin: entries(4, 'The smallest buffer of a subscriber.'),
  bufferEventsMax: entries(65_536, 'The largest buffer of a subscriber.'),
  buffersBytesMax: bytes(128 * MIB, 'Unread events in all buffers. Above it, no buffer may grow.'),
  progressBytesMax: bytes(2_621_440, 'Size of a progress response: 2 states for each of 256 tags.'),
  bufferBytesMin: bytes(65_536, 'The smallest buffer of a subscriber.'),
  bufferBytesMax: bytes(16 * MIB, 'The largest buffer of a subscriber.'),
  writeQueueMax: entries(8_192, 'Writes waiting for a commit. Further ones are refused.'),
  writeQueueBytesMax: bytes(32 * MIB, 'The same in bytes.'),
  commitWritesMax: entries(512, 'Writes per commit. The rest wait for the next one.'),
  commitBytesMax: bytes(4 * MIB, 'Bytes per commit. The rest wait for the next one.'),
  commitTurnMs: ms(4, 'How long checks of a commit may block the event loop. The rest wait.'),
  listStatesMax: entries(1_000, 'States per page.'),
  listStatesBytesMax: bytes(MIB, 'Bytes per page of states.'),
  listJobsMax: entries(1_000, 'Jobs per page.'),
  listJobsBytesMax: bytes(MIB, 'Bytes per page of jobs.'),
  lostListMax: entries(100, 'Lost tasks that are listed individually.'),
  recentEventIdsMax: entries(8, 'Event ids kept per task and tag, to recognize repeated writes.'),
  cacheBytesMax: bytes(256 * MIB, 'Memory for jobs. The least recently used ones are evicted.'),
  leaseTtlMinMs: ms(1_000, 'The shortest lease.'),
  leaseTtlMaxMs: ms(3_600_000, 'The longest lease, other than one that never expires.'),
  openSnapshotsMax: entries(64, 'Open views of the storage. Further replays wait for one.'),
  memoryRevisionsMax: entries(
    50_000,
    'Changes of a job kept in memory for slow readers, in at most a sixteenth of cacheBytesMax: many readers that use the disk would slow everyone down.',
  ),
  memoryStoreRevisionsMax: entries(10_000, 'Superseded changes of a job in the memory store.'),
  retentionRevisionsMax: entries(100_000, 'Superseded changes of a job that are kept on disk.'),
  retentionBytesMax: bytes(64 * MIB, 'The same in bytes.'),
  retentionMs: ms(3_600_000, 'How long a superseded change is kept on disk.'),
  compactionKeysMax: entries(1_000, 'Keys that one batch of a compaction or deletion removes.'),
  frameEventsMax: entries(512, 'Events per frame of a gRPC stream.'),
  frameBytesMax: bytes(262_144, 'Approximate size of one frame.'),
  frameWaitMs: ms(5, 'How long a frame waits for more events.'),
  frameWaitMaxMs: ms(15, 'The same, while sending takes more than a fifth of the time.'),
  frameStreamsMax: entries(16, 'Streams that send in one turn, so that replies can be sent too.'),
  sharedFramesBytesMax: bytes(MIB, 'Frames that streams of the same scope share.'),
  streamsPerChannelMax: entries(90, 'Subscriptions per connection. The next opens another.'),
  responseBytesMax: bytes(4 * MIB, 'Largest response that is accepted, as in other gRPC clients.'),
  remoteCallTimeoutMs: ms(10_000, 'Timeout of a remote call. A manager retries it.'),
  remoteConnectTimeoutMs: ms(5_000, 'Timeout for opening a subscription.'),
  remoteWindowBytes: bytes(
    512 * 1024,
    'How much a server may send ahead of the remote store, per stream and per connection. The HTTP/2 default is 64 KiB, which the 90 streams of one connection would have to share.',
  ),
  remoteConnectPauseMs: ms(500, 'The pause before a failed connection is retried.'),
  remoteKeepaliveIntervalMs: ms(10_000, 'How often the remote store pings a connection.'),
  remoteKeepaliveTimeoutMs: ms(5_000, 'A connection without a reply to a ping by then is lost.'),
  replayAgeMaxMs: ms(30_000, 'A replay that takes longer continues with a newer view.'),
  liveIntervalMs: ms(10_000, 'A subscriber receives its position at least this often.'),
  retentionGraceMs: ms(600_000, 'No job expires this long after startup: clocks may be wrong.'),
  retentionSweepMs: ms(60_000, 'How often the server looks for jobs past their retention.'),
  firestoreDeletesMax: entries(300, 'Documents that one commit of a deletion removes.'),
  firestoreCallsWaitingMax: entries(10_000, 'Calls waiting for others. More are refused.'),
  postgresConnectionsMax: entries(10, 'Connections of one process. Further calls wait for one.'),
  postgresViewsMax: entries(4, 'Open views; each holds a connection. Others wait.'),
  postgresCallTimeoutMs: ms(10_000, 'Timeout for connecting, and for each statement.'),
  postgresPollMs: ms(1_000, 'How often to poll for commits whose notification was lost.'),
  postgresAttemptsMax: entries(5, 'Attempts at a transaction that conflicts with others.'),
});
export type JobsLimitName = keyof typeof jobsLimits;

/** The values alone. */
export const limitValues = Object.fromEntries(
  Object.entries(jobsLimits).map(([name, { value }]) => [name, value]),
) as Readonly<Record<JobsLimitName, number>>;
