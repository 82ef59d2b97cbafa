// The calls of syncline.jobs.v1.JobService, with their requests and responses, shared by client and server so that they
// cannot disagree. Fields that a sender may omit are optional, and the receiver knows their defaults.
import * as wire from '@syncline/kernel/wire';
import type { GrpcFailure } from '@syncline/protocol';
import type { WriteFields } from '../checks/checked-write.js';
import { checkBytes } from '../checks/values.js';
import type { JobRef } from '../core/decisions.js';
import type {
  DeletedJob,
  EncodedPage,
  EncodedResult,
  JobProgress,
} from '../engine/checked-job-store.js';
import type { JobList, JobPatch, JobQuery, JobSpec, Scope } from '../job.js';
import type { CreatedJob, Overflow } from '../job-store.js';
import * as messages from './messages.js';

export const SERVICE = 'syncline.jobs.v1.JobService';

export interface Call<Request, Response> {
  /** As in the contract: `CreateJob`. */
  readonly name: string;
  readonly request: wire.Message<Request>;
  readonly response: wire.Message<Response>;
}

/** Concerns a whole job. An operator gives no task. */
export type GlobalRequest = JobRef & Readonly<{ taskId?: number }>;
type UpdateRequest = GlobalRequest &
  Required<JobPatch> &
  Readonly<{ setLabels: boolean; setExpectedTags: boolean }>;
/** A size of 0 means the default. */
export type SubscribeRequest = Readonly<{
  jobId: string;
  scope: Scope;
  after?: string | undefined;
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

const scoped = { jobId: wire.text(1), scope: messages.scope(2) };
const global = {
  jobId: wire.text(1),
  taskId: wire.optionalUint(2),
  incarnation: wire.optionalText(3),
};
const failureMessage = wire.message<GrpcFailure>({
  code: wire.uint(1),
  details: wire.text(2),
  metadata: wire.textMap(3),
});

export const jobCalls = {
  createJob: {
    name: 'CreateJob',
    request: wire.message<Required<JobSpec>>({
      jobId: wire.text(1),
      numTasks: wire.uint(2),
      expectedTags: wire.texts(3),
      labels: wire.textMap(4),
    }),
    response: wire.message<CreatedJob>({
      job: wire.required(1, messages.jobMessage),
      created: wire.bool(2),
    }),
  },
  getJob: {
    name: 'GetJob',
    request: wire.message({ jobId: wire.text(1) }),
    response: wire.message({ job: wire.required(1, messages.jobMessage) }),
  },
  listJobs: {
    name: 'ListJobs',
    request: wire.message<JobQuery>({
      prefix: wire.optionalText(1),
      worst: wire.word(2, messages.statusClasses),
      afterJobId: wire.optionalText(3),
      limit: wire.optionalUint(4),
    }),
    response: wire.message<JobList>({
      jobs: wire.list(1, messages.summaryMessage),
      next: wire.optionalText(2),
      damaged: wire.texts(3),
    }),
  },
  updateJob: {
    name: 'UpdateJob',
    request: wire.message<UpdateRequest>({
      jobId: wire.text(1),
      taskId: wire.optionalUint(2),
      setLabels: wire.bool(3),
      labels: wire.textMap(4),
      setExpectedTags: wire.bool(5),
      expectedTags: wire.texts(6),
      incarnation: wire.optionalText(7),
    }),
    response: wire.message({ applied: wire.bool(1), job: wire.required(2, messages.jobMessage) }),
  },
  markJobDeleted: {
    name: 'MarkJobDeleted',
    request: wire.message<GlobalRequest>(global),
    response: wire.message({
      applied: wire.bool(1),
      revision: wire.uint(2),
      job: wire.required(3, messages.jobMessage),
    }),
  },
  deleteJob: {
    name: 'DeleteJob',
    request: wire.message<GlobalRequest & DeletedJob>({
      ...global,
      ifRevision: wire.optionalUint(4),
    }),
    response: wire.message({ applied: wire.bool(1), revision: wire.uint(2) }),
  },
  heartbeat: {
    name: 'Heartbeat',
    request: wire.message({
      jobId: wire.text(1),
      incarnation: wire.text(2),
      taskId: wire.uint(3),
      action: wire.requiredWord(4, messages.leaseActions),
      epoch: wire.uint(5),
      ttlMs: wire.uint(6),
      holder: wire.text(7),
    }),
    response: wire.message({ lease: wire.required(1, messages.leaseMessage) }),
  },
  setState: {
    name: 'SetState',
    request: wire.message<WriteFields>({
      jobId: wire.text(1),
      incarnation: wire.text(2),
      taskId: wire.uint(3),
      epoch: wire.uint(4),
      tag: wire.text(5),
      status: wire.sint(6),
      message: wire.text(7),
      payloadJson: wire.optionalText(8),
      schemaVersion: wire.uint(9),
      eventId: wire.text(10),
      ifVersion: wire.optionalUint(11),
      durability: wire.word(12, messages.durabilities),
      progress: wire.optionalDouble(13),
    }),
    response: wire.message<EncodedResult>({
      applied: wire.bool(1),
      duplicate: wire.bool(2),
      state: wire.encodedMessage(3),
    }),
  },
  /**
   * Many writes over one stream. Each has a number, which its reply repeats. Writes and replies are the messages of
   * SetState, still encoded, so that a malformed one does not affect the others.
   */
  setStates: {
    name: 'SetStates',
    request: wire.message({
      writes: wire.list(
        1,
        wire.message<NumberedWrite>({
          number: wire.uint(1),
          write: { ...wire.optionalMessage(2), absent: () => new Uint8Array() },
        }),
      ),
    }),
    response: wire.message<AnswersMessage>({
      answers: wire.list(
        1,
        wire.message<NumberedAnswer>({
          number: wire.uint(1),
          response: wire.optionalMessage(2),
          failure: wire.nested(3, failureMessage),
        }),
      ),
      end: wire.nested(2, failureMessage),
    }),
  },
  getState: {
    name: 'GetState',
    request: wire.message(scoped),
    response: wire.message({
      state: wire.encodedMessage(1),
      exists: wire.bool(2),
      revision: wire.uint(3),
    }),
  },
  listStates: {
    name: 'ListStates',
    request: wire.message({ ...scoped, afterRevision: wire.uint(3), limit: wire.uint(4) }),
    response: wire.message<EncodedPage>({
      states: wire.encodedMessages(1),
      revision: wire.uint(2),
      incarnation: wire.text(3),
      more: wire.bool(4),
    }),
  },
  /** The states in the response have no job id. */
  getProgress: {
    name: 'GetProgress',
    request: wire.message(scoped),
    response: wire.message<JobProgress>({
      job: wire.required(1, messages.jobMessage),
      progress: wire.required(2, messages.progressMessage),
      lost: wire.list(3, messages.leaseMessage),
    }),
  },
  /** The response is a stream of frames: see frames.ts. */
  subscribe: {
    name: 'Subscribe',
    request: wire.message<SubscribeRequest>({
      ...scoped,
      after: wire.optionalText(3),
      includeLeases: wire.bool(4),
      includeJob: wire.bool(5),
      overflow: wire.word(6, messages.overflows),
      bufferEvents: wire.uint(7),
      bufferBytes: wire.uint(8),
    }),
  },
} as const;

export function checkRequestBytes(name: string, { length }: Uint8Array): void {
  checkBytes('requestBytesMax', length, `the ${name} request`, '. Send less at once.');
}

/** Maximum size of an item's envelope in a SetStates message, excluding its body. */
export const ENVELOPE_BYTES = 24;

/** A write counts as at least this much: a server needs more memory for it than its bytes. */
export const WINDOW_BYTES_MIN = 128;

/** The size of a write in the window, on both sides. */
export function windowBytesOf({ length }: Uint8Array): number {
  return Math.max(WINDOW_BYTES_MIN, length + ENVELOPE_BYTES);
}
