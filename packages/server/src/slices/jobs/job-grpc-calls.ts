// What each call of JobService asks of the store.
//
// Global writes come from operators, who name no task, or from a task; only task 0's apply. Others are told so,
// and nothing is changed.
import type {
  CallOptions,
  JobCallOptions,
  JobInfo,
  JobStore,
  SetStateResult,
  StateWrite,
} from '@syncline/jobs';
import { jobsLimits } from '@syncline/jobs';
import {
  type Call,
  type createJob,
  type deleteJob,
  type GlobalRequest,
  type getJob,
  type getProgress,
  type getState,
  type heartbeat,
  type ListJobsRequest,
  labelsOf,
  type listJobs,
  type listStates,
  type markJobDeleted,
  parsePayload,
  type SetStateRequest,
  type setState,
  type UpdateJobRequest,
  type updateJob,
} from '@syncline/jobs/grpc';
import { SynclineError } from '@syncline/kernel';
import { lastRevision } from './last-revision.js';

export interface JobCallDeps {
  readonly store: JobStore;
}

type Handler<C> =
  C extends Call<infer Request, infer Response> ? (request: Request) => Promise<Response> : never;

/** Ends when the client has gone; a write never does, since it may be under way. */
type Reader<C> =
  C extends Call<infer Request, infer Response>
    ? (request: Request, call: CallOptions) => Promise<Response>
    : never;

export interface JobCalls {
  readonly createJob: Handler<typeof createJob>;
  readonly getJob: Reader<typeof getJob>;
  readonly listJobs: Reader<typeof listJobs>;
  readonly updateJob: Handler<typeof updateJob>;
  readonly markJobDeleted: Handler<typeof markJobDeleted>;
  readonly deleteJob: Handler<typeof deleteJob>;
  readonly heartbeat: Handler<typeof heartbeat>;
  readonly setState: Handler<typeof setState>;
  readonly getState: Reader<typeof getState>;
  readonly listStates: Reader<typeof listStates>;
  readonly getProgress: Reader<typeof getProgress>;
}

export function jobCalls({ store }: JobCallDeps): JobCalls {
  const knownJob = async (jobId: string, call?: CallOptions): Promise<JobInfo> =>
    (await store.getJob(jobId, call)) ?? refuseUnknown(jobId);
  return {
    createJob: ({ labels, ...spec }) => store.createJob({ ...spec, labels: labelsOf(labels) }),
    getJob: async ({ jobId }, call) => ({ job: await knownJob(jobId, call) }),
    async listJobs(request, call) {
      const { jobs, next = '', damaged = [] } = await store.listJobs(queryOf(request), call);
      return { jobs, next, damaged };
    },
    async updateJob(request) {
      const { jobId } = request;
      if (isFromTaskZero(request)) {
        const job = await store.updateJob(jobId, patchOf(request), meantBy(request));
        return { applied: true, job };
      }
      return { applied: false, job: checkTask(await knownJob(jobId), request) };
    },
    async markJobDeleted(request) {
      const { jobId } = request;
      const isApplied = isFromTaskZero(request);
      const job = isApplied
        ? await store.markJobDeleted(jobId, meantBy(request))
        : checkTask(await knownJob(jobId), request);
      return { applied: isApplied, revision: job.revision, job };
    },
    async deleteJob(request) {
      const { jobId } = request;
      if (!isFromTaskZero(request))
        return { applied: false, revision: checkTask(await knownJob(jobId), request).revision };
      const revision = await lastRevision(store, jobId);
      if (!(await store.deleteJob(jobId, meantBy(request)))) refuseUnknown(jobId);
      return { applied: true, revision };
    },
    heartbeat: async (request) => ({ lease: await store.lease(request) }),
    setState: async (request) => answerOf(await store.setState(writeOf(request))),
    async getState({ jobId, scope = {} }, call) {
      const { lowest, revision } = await store.aggregate(jobId, scope, call);
      return { state: lowest, exists: lowest.version > 0, revision };
    },
    listStates: ({ jobId, scope = {}, afterRevision, limit: wanted }, call) => {
      const limit = wanted === 0 ? jobsLimits.listStatesMax.value : wanted;
      return store.listStates(jobId, scope, { afterRevision, limit }, call);
    },
    async getProgress({ jobId, scope = {} }, call) {
      const job = await knownJob(jobId, call);
      const progress = await store.aggregate(jobId, scope, call);
      return { job, progress, lost: await store.listLost(jobId, call) };
    },
  };
}

function refuseUnknown(jobId: string): never {
  throw new SynclineError('not-found', `there is no job ${jobId}`, { details: { jobId } });
}

function isFromTaskZero({ taskId = 0 }: Pick<GlobalRequest, 'taskId'>): boolean {
  return taskId === 0;
}

/** An empty one is none: whichever job has the name. */
function meantBy({ incarnation }: Pick<GlobalRequest, 'incarnation'>): JobCallOptions {
  return incarnation === '' ? {} : { incarnation };
}

function checkTask(job: JobInfo, { taskId = 0 }: Pick<GlobalRequest, 'taskId'>): JobInfo {
  if (taskId < job.numTasks) return job;
  throw new SynclineError(
    'invalid-argument',
    `taskId is ${taskId}; wanted: a task of the job ${job.jobId}, 0 to ${job.numTasks - 1}`,
    { details: { field: 'taskId' } },
  );
}

function queryOf({ prefix, worst, afterJobId, limit }: ListJobsRequest) {
  return {
    prefix,
    ...(worst === undefined ? {} : { worst }),
    ...(afterJobId === '' ? {} : { afterJobId }),
    ...(limit === 0 ? {} : { limit }),
  };
}

function patchOf({ setLabels, labels, setExpectedTags, expectedTags }: UpdateJobRequest) {
  return {
    ...(setLabels ? { labels: labelsOf(labels) } : {}),
    ...(setExpectedTags ? { expectedTags } : {}),
  };
}

function writeOf(request: SetStateRequest): StateWrite {
  const { payloadJson, ifVersion, durability, ...write } = request;
  return {
    ...write,
    ...(payloadJson === undefined ? {} : { payload: payloadOf(payloadJson) }),
    ...(ifVersion === undefined ? {} : { ifVersion }),
    ...(durability === undefined ? {} : { durability }),
  };
}

function payloadOf(json: string) {
  const payload = parsePayload(json);
  if (payload !== undefined) return payload;
  const message = 'payload_json is no JSON object';
  throw new SynclineError('invalid-argument', message, {
    details: { field: 'payload', issues: [{ message }] },
  });
}

function answerOf(result: SetStateResult) {
  return result.applied
    ? { applied: true, duplicate: result.duplicate, state: result.state }
    : { applied: false, duplicate: false, state: result.current };
}
