// The calls of syncline.jobs.v1.JobService: what goes to the server and what comes back.
//
// One object per call, so that client and server cannot disagree about it. Words that a sender may leave out are
// `| undefined`; who reads them knows the default.
import type { Durability } from '@syncline/kernel';
import type { JobInfo, JobList, LeaseRequest, TaskLease } from '../job.js';
import type { Overflow } from '../job-event.js';
import type { Progress } from '../progress.js';
import type { Scope } from '../state.js';
import type { StatusClass } from '../status.js';
import {
  jobMessage,
  type Label,
  labelMessage,
  leaseMessage,
  progressMessage,
  scopeMessage,
  summaryMessage,
} from './job-messages.js';
import {
  bool,
  encodedMessage,
  encodedMessages,
  list,
  type Message,
  message,
  nested,
  optionalDouble,
  optionalText,
  optionalUint,
  required,
  requiredWord,
  sint,
  text,
  texts,
  uint,
  word,
} from './proto-message.js';
import type { StoredState } from './state-message.js';
import { durabilities, leaseActions, overflows, statusClasses } from './wire-enums.js';

export const SERVICE = 'syncline.jobs.v1.JobService';

export interface Call<Request, Response> {
  /** As the contract writes it: `CreateJob`. */
  readonly name: string;
  readonly request: Message<Request>;
  readonly response: Message<Response>;
}

export type CreateJobRequest = Readonly<{
  jobId: string;
  numTasks: number;
  expectedTags: readonly string[];
  labels: readonly Label[];
}>;

export const createJob: Call<
  CreateJobRequest,
  { readonly job: JobInfo; readonly created: boolean }
> = {
  name: 'CreateJob',
  request: message({
    jobId: text(1),
    numTasks: uint(2),
    expectedTags: texts(3),
    labels: list(4, labelMessage),
  }),
  response: message({ job: required(1, jobMessage), created: bool(2) }),
};

type JobRequest = Readonly<{ jobId: string }>;

export const getJob: Call<JobRequest, { readonly job: JobInfo }> = {
  name: 'GetJob',
  request: message({ jobId: text(1) }),
  response: message({ job: required(1, jobMessage) }),
};

export type ListJobsRequest = Readonly<{
  prefix: string;
  worst: StatusClass | undefined;
  afterJobId: string;
  limit: number;
}>;

export const listJobs: Call<ListJobsRequest, Required<JobList>> = {
  name: 'ListJobs',
  request: message({
    prefix: text(1),
    worst: word(2, statusClasses),
    afterJobId: text(3),
    limit: uint(4),
  }),
  response: message({ jobs: list(1, summaryMessage), next: text(2), damaged: texts(3) }),
};

export type UpdateJobRequest = Readonly<{
  jobId: string;
  taskId: number | undefined;
  setLabels: boolean;
  labels: readonly Label[];
  setExpectedTags: boolean;
  expectedTags: readonly string[];
  /** Empty: whichever has the name. */
  incarnation: string;
}>;

export const updateJob: Call<
  UpdateJobRequest,
  { readonly applied: boolean; readonly job: JobInfo }
> = {
  name: 'UpdateJob',
  request: message({
    jobId: text(1),
    taskId: optionalUint(2),
    setLabels: bool(3),
    labels: list(4, labelMessage),
    setExpectedTags: bool(5),
    expectedTags: texts(6),
    incarnation: text(7),
  }),
  response: message({ applied: bool(1), job: required(2, jobMessage) }),
};

export type GlobalRequest = Readonly<{
  jobId: string;
  taskId: number | undefined;
  /** Empty: whichever has the name. */
  incarnation: string;
}>;
export type GlobalResponse = Readonly<{ applied: boolean; revision: number }>;

const globalRequest = message<GlobalRequest>({
  jobId: text(1),
  taskId: optionalUint(2),
  incarnation: text(3),
});
const globalResponse = message<GlobalResponse>({ applied: bool(1), revision: uint(2) });

/** The job goes only if it is at `ifRevision`, if that is given. */
export type DeleteJobRequest = GlobalRequest & Readonly<{ ifRevision: number | undefined }>;

export const markJobDeleted: Call<GlobalRequest, GlobalResponse & { readonly job: JobInfo }> = {
  name: 'MarkJobDeleted',
  request: globalRequest,
  response: message({ applied: bool(1), revision: uint(2), job: required(3, jobMessage) }),
};

export const deleteJob: Call<DeleteJobRequest, GlobalResponse> = {
  name: 'DeleteJob',
  request: message({
    jobId: text(1),
    taskId: optionalUint(2),
    incarnation: text(3),
    ifRevision: optionalUint(4),
  }),
  response: globalResponse,
};

export const heartbeat: Call<LeaseRequest, { readonly lease: TaskLease }> = {
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
};

export type SetStateRequest = Readonly<{
  jobId: string;
  incarnation: string;
  taskId: number;
  epoch: number;
  tag: string;
  status: number;
  message: string;
  payloadJson: string | undefined;
  schemaVersion: number;
  eventId: string;
  ifVersion: number | undefined;
  durability: Durability | undefined;
  progress: number | undefined;
}>;

/** `state` is a State message. */
export type SetStateResponse = Readonly<{
  applied: boolean;
  duplicate: boolean;
  state: Uint8Array;
}>;

export const setState: Call<SetStateRequest, SetStateResponse> = {
  name: 'SetState',
  request: message({
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
  response: message({ applied: bool(1), duplicate: bool(2), state: encodedMessage(3) }),
};

/** Both ways a stream: see write-messages.ts. */
export const setStates = { name: 'SetStates' } as const;

export type ScopedRequest = Readonly<{ jobId: string; scope: Scope | undefined }>;

const scopedRequest = message<ScopedRequest>({ jobId: text(1), scope: nested(2, scopeMessage) });

export const getState: Call<
  ScopedRequest,
  { readonly state: Uint8Array; readonly exists: boolean; readonly revision: number }
> = {
  name: 'GetState',
  request: scopedRequest,
  response: message({ state: encodedMessage(1), exists: bool(2), revision: uint(3) }),
};

export type ListStatesRequest = ScopedRequest & Readonly<{ afterRevision: number; limit: number }>;

/** `states` are State messages. */
export type ListStatesResponse = Readonly<{
  states: readonly Uint8Array[];
  revision: number;
  incarnation: string;
  more: boolean;
}>;

export const listStates: Call<ListStatesRequest, ListStatesResponse> = {
  name: 'ListStates',
  request: message({
    jobId: text(1),
    scope: nested(2, scopeMessage),
    afterRevision: uint(3),
    limit: uint(4),
  }),
  response: message({
    states: encodedMessages(1),
    revision: uint(2),
    incarnation: text(3),
    more: bool(4),
  }),
};

export const getProgress: Call<
  ScopedRequest,
  {
    readonly job: JobInfo;
    readonly progress: Progress<StoredState>;
    readonly lost: readonly TaskLease[];
  }
> = {
  name: 'GetProgress',
  request: scopedRequest,
  response: message({
    job: required(1, jobMessage),
    progress: required(2, progressMessage),
    lost: list(3, leaseMessage),
  }),
};

export type SubscribeRequest = ScopedRequest &
  Readonly<{
    after: string;
    includeLeases: boolean;
    includeJob: boolean;
    overflow: Overflow | undefined;
    bufferEvents: number;
    bufferBytes: number;
  }>;

/** The answer is a stream of frames: see frame-writer.ts and frame-reader.ts. */
export const subscribe: Omit<Call<SubscribeRequest, never>, 'response'> = {
  name: 'Subscribe',
  request: message({
    jobId: text(1),
    scope: nested(2, scopeMessage),
    after: text(3),
    includeLeases: bool(4),
    includeJob: bool(5),
    overflow: word(6, overflows),
    bufferEvents: uint(7),
    bufferBytes: uint(8),
  }),
};
