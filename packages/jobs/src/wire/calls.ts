// The calls of syncline.jobs.v1.JobService, with their requests and responses.
//
// One object, shared by client and server so that they cannot disagree. Messages have the types that stores use. Fields
// that a sender may omit are optional, and the receiver knows their defaults.
import type { GrpcFailure } from '@syncline/protocol';
import type { WriteFields } from '../checks/checked-write.js';
import type { EncodedPage, EncodedResult, JobProgress } from '../engine/checked-job-store.js';
import type { JobList, JobPatch, JobQuery, JobSpec, Scope } from '../job.js';
import type { CreatedJob, Overflow } from '../job-store.js';
import {
  durabilities,
  jobMessage,
  leaseActions,
  leaseMessage,
  overflows,
  progressMessage,
  scope,
  statusClasses,
  summaryMessage,
} from './messages.js';
import {
  bool,
  encodedMessage,
  encodedMessages,
  list,
  type Message,
  message,
  nested,
  optionalDouble,
  optionalMessage,
  optionalText,
  optionalUint,
  required,
  requiredWord,
  sint,
  text,
  textMap,
  texts,
  uint,
  word,
} from './proto-message.js';

export const SERVICE = 'syncline.jobs.v1.JobService';

export interface Call<Request, Response> {
  /** As in the contract: `CreateJob`. */
  readonly name: string;
  readonly request: Message<Request>;
  readonly response: Message<Response>;
}

/** Concerns a whole job. An operator gives no task. Without `incarnation`, whichever job has the id now. */
export type GlobalRequest = Readonly<{ jobId: string; taskId?: number; incarnation?: string }>;
type DeleteRequest = GlobalRequest & Readonly<{ ifRevision?: number }>;
type UpdateRequest = GlobalRequest &
  Required<JobPatch> &
  Readonly<{ setLabels: boolean; setExpectedTags: boolean }>;
/** A size of 0 means the default. */
export type SubscribeRequest = Readonly<{
  jobId: string;
  scope: Scope;
  after?: string;
  includeLeases: boolean;
  includeJob: boolean;
  overflow?: Overflow;
  bufferEvents: number;
  bufferBytes: number;
}>;
export type NumberedWrite = Readonly<{ number: number; write: Uint8Array }>;
/** Either a SetStateResponse or a failure. */
export type NumberedAnswer = Readonly<{
  number: number;
  response?: Uint8Array;
  failure?: GrpcFailure;
}>;
/** `end`: why the server ends the stream. */
type AnswersMessage = Readonly<{ answers: readonly NumberedAnswer[]; end?: GrpcFailure }>;

const scoped = { jobId: text(1), scope: scope(2) };
const failureMessage = message<GrpcFailure>({
  code: uint(1),
  details: text(2),
  metadata: textMap(3),
});

export const jobCalls = {
  createJob: {
    name: 'CreateJob',
    request: message<Required<JobSpec>>({
      jobId: text(1),
      numTasks: uint(2),
      expectedTags: texts(3),
      labels: textMap(4),
    }),
    response: message<CreatedJob>({ job: required(1, jobMessage), created: bool(2) }),
  },
  getJob: {
    name: 'GetJob',
    request: message({ jobId: text(1) }),
    response: message({ job: required(1, jobMessage) }),
  },
  listJobs: {
    name: 'ListJobs',
    request: message<JobQuery>({
      prefix: optionalText(1),
      worst: word(2, statusClasses),
      afterJobId: optionalText(3),
      limit: optionalUint(4),
    }),
    response: message<JobList>({
      jobs: list(1, summaryMessage),
      next: optionalText(2),
      damaged: texts(3),
    }),
  },
  updateJob: {
    name: 'UpdateJob',
    request: message<UpdateRequest>({
      jobId: text(1),
      taskId: optionalUint(2),
      setLabels: bool(3),
      labels: textMap(4),
      setExpectedTags: bool(5),
      expectedTags: texts(6),
      incarnation: optionalText(7),
    }),
    response: message({ applied: bool(1), job: required(2, jobMessage) }),
  },
  markJobDeleted: {
    name: 'MarkJobDeleted',
    request: message<GlobalRequest>({
      jobId: text(1),
      taskId: optionalUint(2),
      incarnation: optionalText(3),
    }),
    response: message({ applied: bool(1), revision: uint(2), job: required(3, jobMessage) }),
  },
  /** If `ifRevision` is given, deletes the job only if it is at that revision. */
  deleteJob: {
    name: 'DeleteJob',
    request: message<DeleteRequest>({
      jobId: text(1),
      taskId: optionalUint(2),
      incarnation: optionalText(3),
      ifRevision: optionalUint(4),
    }),
    response: message({ applied: bool(1), revision: uint(2) }),
  },
  heartbeat: {
    name: 'Heartbeat',
    request: message({
      jobId: text(1),
      incarnation: text(2),
      taskId: uint(3),
      action: requiredWord(4, leaseActions),
      epoch: uint(5),
      ttlMs: uint(6),
      holder: text(7),
    }),
    response: message({ lease: required(1, leaseMessage) }),
  },
  /** `state` in the response is a State message. */
  setState: {
    name: 'SetState',
    request: message<WriteFields>({
      jobId: text(1),
      incarnation: text(2),
      taskId: uint(3),
      epoch: uint(4),
      tag: text(5),
      status: sint(6),
      message: text(7),
      payloadJson: optionalText(8),
      schemaVersion: uint(9),
      eventId: text(10),
      ifVersion: optionalUint(11),
      durability: word(12, durabilities),
      progress: optionalDouble(13),
    }),
    response: message<EncodedResult>({
      applied: bool(1),
      duplicate: bool(2),
      state: encodedMessage(3),
    }),
  },
  /**
   * Many writes over one stream in both directions. Each has a number, which its reply repeats. Writes and replies are
   * the messages of SetState. Here they stay encoded, so that a malformed one does not affect the others, and because
   * decoding a reply requires the job id.
   */
  setStates: {
    name: 'SetStates',
    request: message({
      writes: list(
        1,
        message<NumberedWrite>({
          number: uint(1),
          write: { ...optionalMessage(2), absent: () => new Uint8Array() },
        }),
      ),
    }),
    response: message<AnswersMessage>({
      answers: list(
        1,
        message<NumberedAnswer>({
          number: uint(1),
          response: optionalMessage(2),
          failure: nested(3, failureMessage),
        }),
      ),
      end: nested(2, failureMessage),
    }),
  },
  getState: {
    name: 'GetState',
    request: message(scoped),
    response: message({ state: encodedMessage(1), exists: bool(2), revision: uint(3) }),
  },
  /** `states` are State messages. */
  listStates: {
    name: 'ListStates',
    request: message({ ...scoped, afterRevision: uint(3), limit: uint(4) }),
    response: message<EncodedPage>({
      states: encodedMessages(1),
      revision: uint(2),
      incarnation: text(3),
      more: bool(4),
    }),
  },
  /** The states in the response have no job id. */
  getProgress: {
    name: 'GetProgress',
    request: message(scoped),
    response: message<JobProgress>({
      job: required(1, jobMessage),
      progress: required(2, progressMessage),
      lost: list(3, leaseMessage),
    }),
  },
  /** The response is a stream of frames: see frames.ts. */
  subscribe: {
    name: 'Subscribe',
    request: message<SubscribeRequest>({
      ...scoped,
      after: optionalText(3),
      includeLeases: bool(4),
      includeJob: bool(5),
      overflow: word(6, overflows),
      bufferEvents: uint(7),
      bufferBytes: uint(8),
    }),
  },
} as const;

/** Maximum size of an item's envelope in a SetStates message, excluding its body. */
export const ENVELOPE_BYTES = 24;

/** A write counts as at least this much: a server needs more memory for it than its bytes. */
export const WINDOW_BYTES_MIN = 128;

/** The size of a write in the window, on both sides. */
export function windowBytesOf({ length }: Uint8Array): number {
  return Math.max(WINDOW_BYTES_MIN, length + ENVELOPE_BYTES);
}
