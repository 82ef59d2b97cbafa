// What each call of JobService asks of the store.
//
// Global writes come from operators, who name no task, or from a task; only task 0's apply. Others are told so,
// and nothing is changed.
import type { CallOptions, JobCallOptions, JobInfo, JobStore } from '@syncline/jobs';
import { jobsLimits } from '@syncline/jobs';
import {
  type Call,
  checkWireWrite,
  type createJob,
  type deleteJob,
  encodedCalls,
  encodeState,
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
  const encoded = encodedCalls(store);
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
      const { ifRevision } = request;
      const options = { ...meantBy(request), ...(ifRevision === undefined ? {} : { ifRevision }) };
      if (!(await store.deleteJob(jobId, options))) refuseUnknown(jobId);
      return { applied: true, revision };
    },
    heartbeat: async (request) => ({ lease: await store.lease(request) }),
    setState: async (request) => encoded.setState(checkWireWrite(writeOf(request))),
    async getState({ jobId, scope = {} }, call) {
      const { progress } = await encoded.progress(jobId, scope, call.signal);
      const { lowest, revision } = progress;
      return { state: encodeState(lowest), exists: lowest.version > 0, revision };
    },
    listStates: ({ jobId, scope = {}, afterRevision, limit: wanted }, call) => {
      const limit = wanted === 0 ? jobsLimits.listStatesMax.value : wanted;
      const { signal } = call;
      return encoded.listStates(jobId, scope, { afterRevision, limit, signal });
    },
    getProgress: ({ jobId, scope = {} }, call) => encoded.progress(jobId, scope, call.signal),
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

/** Without what the sender left out. */
function writeOf(request: SetStateRequest) {
  const { payloadJson, ifVersion, durability, progress, ...write } = request;
  return {
    ...write,
    ...(payloadJson === undefined ? {} : { payloadJson }),
    ...(ifVersion === undefined ? {} : { ifVersion }),
    ...(durability === undefined ? {} : { durability }),
    ...(progress === undefined ? {} : { progress }),
  };
}
