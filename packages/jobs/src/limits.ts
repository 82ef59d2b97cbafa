// All limits of jobs. docs/LIMITS.md is generated from this list.
import { defineLimits, type Limit } from '@syncline/kernel';

/** A value, its unit, and why it was chosen or what happens above it. */
const limit = (unit: Limit['unit']) => (value: number, why: string) => ({ value, unit, why });
const bytes = limit('bytes');
const entries = limit('entries');
const ms = limit('ms');

export const jobsLimits = defineLimits({
  jobIdLengthMax: bytes(128, 'Name of a job. A longer one is refused.'),
  tagBytesMax: bytes(128, 'Name of a tag, in UTF-8. A longer one is refused.'),
  eventIdLengthMax: bytes(64, 'Identity of a write. A longer one is refused.'),
  holderLengthMax: bytes(
    128,
    'Name by which the holder of a lease identifies itself. A longer one is refused.',
  ),
  messageBytesMax: bytes(
    4_096,
    'Message of a state, in UTF-8. A longer one is refused; setError and setWarning truncate it.',
  ),
  payloadBytesMax: bytes(65_536, 'Payload of a state, as JSON. A larger one is refused.'),
  payloadDepthMax: entries(
    16,
    'Nesting depth of objects and arrays in a payload. A deeper one is refused.',
  ),
  requestBytesMax: bytes(131_072, 'One request to the job service. A larger one is refused.'),
  writeStreamBytesMax: bytes(
    262_144,
    'Unanswered writes on one stream. The remote store makes further ones wait; the server ends a stream with twice as many.',
  ),
  writeStreamsPerConnectionMax: entries(
    8,
    'Write streams on one connection. The remote store needs one. Further ones are refused.',
  ),
  writeAnswersBytesMax: bytes(
    1024 * 1024,
    'Replies on one write stream that are unsent or expected for writes in progress. Further writes on the stream wait.',
  ),
  writeStreamIdleMs: ms(
    1_000,
    'The remote store ends a write stream after this long without a write.',
  ),
  remoteWritesMax: entries(
    65_536,
    'Writes of a remote store waiting to be sent. Further ones are refused as overloaded.',
  ),
  labelsMax: entries(16, 'Labels of a job. More are refused.'),
  labelNameBytesMax: bytes(64, 'Name of a label. A longer one is refused.'),
  labelValueBytesMax: bytes(256, 'Value of a label. A longer one is refused.'),
  tasksPerJobMax: entries(100_000, 'Tasks of a job. More are refused.'),
  tagsPerJobMax: entries(
    256,
    'Tags of a job, including expected ones. A write with a further tag is refused.',
  ),
  statesPerJobMax: entries(
    1_000_000,
    'States of a job. A write that would add another one is refused.',
  ),
  jobsMax: entries(10_000, 'Jobs of a store. A further one is refused.'),
  subscribersPerJobMax: entries(
    2_048,
    'Subscribers of one job in one store. A further one is refused.',
  ),
  subscribersMax: entries(4_096, 'Subscribers of one store. A further one is refused.'),
  bufferEventsMin: entries(4, 'The smallest buffer of a subscriber.'),
  bufferEventsMax: entries(65_536, 'The largest buffer of a subscriber.'),
  buffersBytesMax: bytes(
    128 * 1024 * 1024,
    'Unread events in the buffers of all subscribers together. Above this limit, any buffer that grows counts as full.',
  ),
  progressBytesMax: bytes(
    2_621_440,
    'The largest progress response of a job: two states without payload for each of 256 tags.',
  ),
  bufferBytesMin: bytes(65_536, 'The smallest buffer of a subscriber.'),
  bufferBytesMax: bytes(16 * 1024 * 1024, 'The largest buffer of a subscriber.'),
  writeQueueMax: entries(
    8_192,
    'Writes waiting for a commit. Further ones are refused as overloaded.',
  ),
  writeQueueBytesMax: bytes(
    32 * 1024 * 1024,
    'Bytes of the writes waiting for a commit. Further writes are refused as overloaded.',
  ),
  commitWritesMax: entries(512, 'Writes per commit; others wait.'),
  commitBytesMax: bytes(4 * 1024 * 1024, 'Bytes per commit; others wait.'),
  listStatesMax: entries(1_000, 'States per page.'),
  listStatesBytesMax: bytes(1024 * 1024, 'Bytes per page of states.'),
  listJobsMax: entries(1_000, 'Jobs per page.'),
  listJobsBytesMax: bytes(1024 * 1024, 'Bytes per page of jobs.'),
  lostListMax: entries(100, 'Lost tasks that are listed individually.'),
  recentEventIdsMax: entries(
    8,
    'Event ids remembered per task and tag, to recognize repeated writes.',
  ),
  cacheBytesMax: bytes(
    256 * 1024 * 1024,
    'Memory for cached jobs. The least recently used ones are evicted.',
  ),
  leaseTtlMinMs: ms(1_000, 'The shortest lease.'),
  leaseTtlMaxMs: ms(3_600_000, 'The longest lease, other than one that never expires.'),
  openSnapshotsMax: entries(
    64,
    'Views of the storage that are open at the same time. Further replays wait for one.',
  ),
  memoryRevisionsMax: entries(
    10_000,
    'Changes of a job kept in memory for readers that are behind.',
  ),
  retentionRevisionsMax: entries(100_000, 'Superseded changes of a job that are kept on disk.'),
  retentionMs: ms(3_600_000, 'How long a superseded change is kept on disk.'),
  retentionBytesMax: bytes(
    64 * 1024 * 1024,
    'Bytes of superseded changes of a job that are kept on disk.',
  ),
  compactionKeysMax: entries(1_000, 'Keys that one batch of a compaction or deletion removes.'),
  frameEventsMax: entries(512, 'Events per frame of a gRPC stream.'),
  frameBytesMax: bytes(262_144, 'Approximate size of one frame.'),
  frameWaitMs: ms(5, 'How long a frame waits for more events.'),
  frameWaitMaxMs: ms(
    15,
    'Longest time that a frame waits, used when sending takes more than a fifth of the time.',
  ),
  frameStreamsMax: entries(
    16,
    'Streams that send in one turn of the event loop, so that replies can be sent in between.',
  ),
  sharedFramesBytesMax: bytes(
    1024 * 1024,
    'Frames of one sending interval that are shared with other streams of the same scope.',
  ),
  streamsPerChannelMax: entries(
    90,
    'Subscriptions on one connection of the remote store; the next opens another.',
  ),
  responseBytesMax: bytes(
    64 * 1024 * 1024,
    'A response that the remote store accepts. A page of 1,000 jobs with 256 tags each, or the progress of 256 tags with the largest payloads, has 36 MiB.',
  ),
  remoteCallTimeoutMs: ms(
    10_000,
    'A call of the remote store without a reply by then fails with a timeout; a manager retries it.',
  ),
  remoteConnectTimeoutMs: ms(
    5_000,
    'A subscription of the remote store that is not connected by then counts as a failed attempt.',
  ),
  remoteWindowBytes: bytes(
    512 * 1024,
    'How much a server may send ahead of the remote store, per stream and per connection. The HTTP/2 default is 64 KiB, which the 90 streams of one connection would have to share.',
  ),
  remoteConnectPauseMs: ms(
    500,
    'How long the remote store waits before it retries a failed connection.',
  ),
  remoteKeepaliveIntervalMs: ms(10_000, 'How often the remote store pings a connection.'),
  remoteKeepaliveTimeoutMs: ms(
    5_000,
    'A connection of the remote store that has not answered a ping by then counts as lost.',
  ),
  replayAgeMaxMs: ms(
    30_000,
    'How long a replay may hold one view of the store; then it continues with a newer one.',
  ),
  liveIntervalMs: ms(
    10_000,
    'A subscriber receives its position at least this often, even when nothing changes.',
  ),
  retentionGraceMs: ms(
    600_000,
    'No job is deleted because of its age this soon after startup: the clock of a machine that just booted may be wrong.',
  ),
  retentionSweepMs: ms(60_000, 'How often the server looks for jobs past their retention.'),
  firestoreDeletesMax: entries(300, 'Documents that one commit of a deletion removes.'),
  firestoreCallsWaitingMax: entries(
    10_000,
    'Calls waiting because concurrencyMax others are in flight. Further ones are refused.',
  ),
  postgresConnectionsMax: entries(
    10,
    'Connections of one process to PostgreSQL. Further calls wait for one.',
  ),
  postgresViewsMax: entries(
    4,
    'Views of PostgreSQL that are open at the same time; each holds a connection. Others wait.',
  ),
  postgresCallTimeoutMs: ms(
    10_000,
    'Timeout for connecting to PostgreSQL and for one statement. After that it counts as unreachable.',
  ),
  postgresPollMs: ms(
    1_000,
    'How often PostgreSQL is polled for commits by other processes whose notification was lost.',
  ),
  postgresAttemptsMax: entries(
    5,
    'How often a transaction is attempted if others keep it from committing. After that, the call fails as unavailable.',
  ),
});
export type JobsLimitName = keyof typeof jobsLimits;
