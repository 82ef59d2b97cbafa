// Every limit of the jobs. docs/LIMITS.md is made from this list.
import { defineLimits } from '@syncline/kernel';

export const jobsLimits = defineLimits({
  jobIdLengthMax: { value: 128, unit: 'bytes', why: 'Name of a job. A longer one is refused.' },
  tagBytesMax: {
    value: 128,
    unit: 'bytes',
    why: 'Name of a tag, in UTF-8. A longer one is refused.',
  },
  eventIdLengthMax: {
    value: 64,
    unit: 'bytes',
    why: 'Identity of a write. A longer one is refused.',
  },
  holderLengthMax: {
    value: 128,
    unit: 'bytes',
    why: 'How a claimant names itself. A longer one is refused.',
  },
  messageBytesMax: {
    value: 4_096,
    unit: 'bytes',
    why: 'Message of a state, in UTF-8. A longer one is refused; setError and setWarning cut theirs.',
  },
  payloadBytesMax: {
    value: 65_536,
    unit: 'bytes',
    why: 'Payload of a state, as JSON. A larger one is refused.',
  },
  payloadDepthMax: {
    value: 16,
    unit: 'entries',
    why: 'Objects and lists within each other in a payload. A deeper one is refused.',
  },
  requestBytesMax: {
    value: 131_072,
    unit: 'bytes',
    why: 'One request to the job service. A larger one is refused.',
  },
  writeStreamBytesMax: {
    value: 262_144,
    unit: 'bytes',
    why: 'Writes on one stream that have no answer yet. The remote store lets further ones wait; the server ends the stream of a client with twice as many.',
  },
  writeAnswersBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Answers on one stream of writes that are unsent, or that writes in progress may become. Further writes of the stream wait.',
  },
  writeStreamIdleMs: {
    value: 1_000,
    unit: 'ms',
    why: 'The remote store ends a stream of writes on which nothing was written for so long.',
  },
  remoteWritesMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Writes of a remote store that wait to be sent. A further one is refused as overloaded.',
  },
  labelsMax: { value: 16, unit: 'entries', why: 'Labels of a job. More are refused.' },
  labelNameBytesMax: { value: 64, unit: 'bytes', why: 'Name of a label. A longer one is refused.' },
  labelValueBytesMax: {
    value: 256,
    unit: 'bytes',
    why: 'Value of a label. A longer one is refused.',
  },
  tasksPerJobMax: { value: 100_000, unit: 'entries', why: 'Tasks of a job. More are refused.' },
  tagsPerJobMax: {
    value: 256,
    unit: 'entries',
    why: 'Tags of a job, those expected included. A write of a further one is refused.',
  },
  statesPerJobMax: {
    value: 1_000_000,
    unit: 'entries',
    why: 'States of a job. A write of a further key is refused.',
  },
  jobsMax: { value: 10_000, unit: 'entries', why: 'Jobs of a store. A further one is refused.' },
  subscribersPerJobMax: {
    value: 2_048,
    unit: 'entries',
    why: 'Subscribers of one job in one store. A further one is refused.',
  },
  subscribersMax: {
    value: 4_096,
    unit: 'entries',
    why: 'Subscribers of one store. A further one is refused.',
  },
  bufferEventsMin: { value: 4, unit: 'entries', why: 'The smallest buffer of a subscriber.' },
  bufferEventsMax: { value: 65_536, unit: 'entries', why: 'The largest buffer of a subscriber.' },
  bufferBytesMin: { value: 65_536, unit: 'bytes', why: 'The smallest buffer of a subscriber.' },
  bufferBytesMax: {
    value: 16 * 1024 * 1024,
    unit: 'bytes',
    why: 'The largest buffer of a subscriber.',
  },
  writeQueueMax: {
    value: 8_192,
    unit: 'entries',
    why: 'Writes that wait for a commit. A further one is refused as overloaded.',
  },
  writeQueueBytesMax: {
    value: 32 * 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes of writes that wait for a commit. A further write is refused as overloaded.',
  },
  commitWritesMax: { value: 512, unit: 'entries', why: 'Writes of one commit; others wait.' },
  commitBytesMax: {
    value: 4 * 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes of one commit; others wait.',
  },
  listStatesMax: { value: 1_000, unit: 'entries', why: 'States of one page.' },
  listStatesBytesMax: { value: 1024 * 1024, unit: 'bytes', why: 'Bytes of one page of states.' },
  listJobsMax: { value: 1_000, unit: 'entries', why: 'Jobs of one page.' },
  listJobsBytesMax: { value: 1024 * 1024, unit: 'bytes', why: 'Bytes of one page of jobs.' },
  lostListMax: { value: 100, unit: 'entries', why: 'Lost leases that are listed by name.' },
  recentEventIdsMax: {
    value: 8,
    unit: 'entries',
    why: 'Writes of a key that are remembered by their event id.',
  },
  cacheBytesMax: {
    value: 256 * 1024 * 1024,
    unit: 'bytes',
    why: 'What is held in memory of jobs. Those not used for longest leave.',
  },
  leaseTtlMinMs: { value: 1_000, unit: 'ms', why: 'The shortest lease.' },
  leaseTtlMaxMs: { value: 3_600_000, unit: 'ms', why: 'The longest lease that expires at all.' },
  openSnapshotsMax: {
    value: 64,
    unit: 'entries',
    why: 'Views of the storage that are open at once. Further replays wait for one.',
  },
  memoryRevisionsMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Changes of a job that are kept in memory for readers who are behind.',
  },
  retentionRevisionsMax: {
    value: 100_000,
    unit: 'entries',
    why: 'Changes of a job that are kept on disk although a later one replaced them.',
  },
  retentionMs: {
    value: 3_600_000,
    unit: 'ms',
    why: 'How long a change is kept on disk although a later one replaced it.',
  },
  retentionBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'Bytes of changes of a job that are kept on disk although later ones replaced them.',
  },
  compactionKeysMax: {
    value: 1_000,
    unit: 'entries',
    why: 'Keys that one batch of a compaction or of a deletion removes.',
  },
  frameEventsMax: { value: 512, unit: 'entries', why: 'Events of one frame of a gRPC stream.' },
  frameBytesMax: { value: 262_144, unit: 'bytes', why: 'Bytes of one frame, about.' },
  frameWaitMs: { value: 5, unit: 'ms', why: 'How long a frame waits for more events.' },
  frameWaitMaxMs: {
    value: 15,
    unit: 'ms',
    why: 'And how long at most, when sending takes more than a fifth of the time.',
  },
  frameStreamsMax: {
    value: 16,
    unit: 'entries',
    why: 'Streams that send in one turn of the event loop, so that answers go out in between.',
  },
  sharedFramesBytesMax: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Frames of one beat that are kept for other streams of the same scope.',
  },
  streamsPerChannelMax: {
    value: 90,
    unit: 'entries',
    why: 'Subscriptions on one connection of the remote store; the next opens another.',
  },
  responseBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'An answer that the remote store takes. A page of 1 000 jobs with 256 tags each, or the progress of 256 tags with the largest payloads, has 36 MiB.',
  },
  remoteCallTimeoutMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A call of the remote store that has no answer by then fails as a timeout; a manager tries again.',
  },
  remoteConnectTimeoutMs: {
    value: 5_000,
    unit: 'ms',
    why: 'A subscription of the remote store that is not connected by then counts as a failed attempt.',
  },
  remoteWindowBytes: {
    value: 512 * 1024,
    unit: 'bytes',
    why: 'What a server may send ahead of the remote store, on a stream and on a connection. HTTP/2 begins with 64 KiB, for which 90 streams of one connection wait in turn.',
  },
  remoteConnectPauseMs: {
    value: 500,
    unit: 'ms',
    why: 'How long a connection of the remote store that failed waits before it is tried again.',
  },
  remoteKeepaliveIntervalMs: {
    value: 10_000,
    unit: 'ms',
    why: 'How often the remote store asks a connection whether it is still there.',
  },
  remoteKeepaliveTimeoutMs: {
    value: 5_000,
    unit: 'ms',
    why: 'A connection of the remote store that has not answered by then counts as lost.',
  },
  replayAgeMaxMs: {
    value: 30_000,
    unit: 'ms',
    why: 'How long a replay may hold one view of the store; then it goes on from a newer one.',
  },
  liveIntervalMs: {
    value: 10_000,
    unit: 'ms',
    why: 'A subscriber hears at least this often how far it has come.',
  },
  retentionSweepMs: { value: 60_000, unit: 'ms', why: 'How often jobs past retention are sought.' },
  firestoreWritesMax: {
    value: 50,
    unit: 'entries',
    why: 'Writes of one Firestore transaction; others wait.',
  },
  firestoreDeletesMax: {
    value: 300,
    unit: 'entries',
    why: 'Documents that one commit of a deletion removes.',
  },
  firestoreCallsWaitingMax: {
    value: 10_000,
    unit: 'entries',
    why: 'Calls that wait because concurrencyMax others are under way. A further one is refused.',
  },
});

export type JobsLimitName = keyof typeof jobsLimits;
