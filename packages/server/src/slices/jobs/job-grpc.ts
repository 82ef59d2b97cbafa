// syncline.jobs.v1.JobService for grpc-js. The contract has its own codec, so gRPC carries plain bytes; the
// descriptors are only there for reflection.
//
// The form of a request is checked here, and its values by the store.
//
// Global writes come from operators, without a task id, or from a task; only those of task 0 apply. Others change
// nothing, and the response says so.
import type { MethodDefinition, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { type CallOptions, type JobInfo, type JobStore, jobsLimits } from '@syncline/jobs';
import {
  type Call,
  checkRequestBytes,
  checkTaskId,
  checkWireWrite,
  encodeState,
  type GlobalRequest,
  jobCalls,
  localStore,
  noSuchJob,
  SERVICE,
  type WriteFields,
} from '@syncline/jobs/grpc';
import { type Clock, SynclineError } from '@syncline/kernel';
import { decode, encode } from '@syncline/kernel/wire';
import type { GrpcService } from '../../grpc/grpc-service.js';
import { FrameBeat, OpenStreams, runSubscribeCall, type SubscribeCall } from './job-grpc-stream.js';
import { runSetStatesCall, type SetStatesCall } from './job-grpc-writes.js';
import { lastRevision } from './last-revision.js';
import { reachedLimitOf } from './reached-limit.js';

export interface JobGrpcDeps {
  readonly store: JobStore;
  readonly clock: Clock;
  /** Fires when the server begins to stop: streams end, calls that have arrived are still answered. */
  readonly draining: AbortSignal;
  /** Counts that a limit refused a call. */
  limitReached(limit: string): void;
}

type BytesMethod = MethodDefinition<Uint8Array, Uint8Array>;
type BytesCall = ServerUnaryCall<Uint8Array, Uint8Array>;
type Handler =
  | ((call: BytesCall, reply: sendUnaryData<Uint8Array>) => Promise<void>)
  | ((call: SubscribeCall) => Promise<void>)
  | ((call: SetStatesCall) => Promise<void>);

export function jobGrpcService(deps: JobGrpcDeps): GrpcService {
  const { store } = deps;
  const local = localStore(store);
  const definition: Record<string, BytesMethod> = {};
  const implementation: Record<string, Handler> = {};

  /** Runs a call, and rethrows its error as a client sees it. */
  async function withClientErrors<Value>(run: () => Promise<Value>): Promise<Value> {
    try {
      return await run();
    } catch (thrown) {
      throw failureOf(thrown, deps);
    }
  }

  /**
   * No one waits for a read whose client is gone, so it gets a signal. A write may be in progress, so it ignores it.
   */
  function answer<Request, Response>(
    call: Call<Request, Response>,
    handle: (request: Request, call: { readonly signal: AbortSignal }) => Promise<Response>,
  ): void {
    definition[call.name] = methodOf(call.name);
    implementation[call.name] = (arrived: BytesCall, reply) =>
      withClientErrors(async () => {
        const gone = new AbortController();
        arrived.on('cancelled', () => gone.abort());
        const response = await handle(parseRequest(call, arrived.request), gone);
        reply(null, encode(call.response, response));
      });
  }

  const knownJob = async (jobId: string, call?: CallOptions): Promise<JobInfo> => {
    const job = await store.getJob(jobId, call);
    if (job === undefined) throw noSuchJob(jobId);
    return job;
  };
  /** For a global write of a task other than 0, which changes nothing. */
  const unchangedJob = async ({ jobId, taskId }: GlobalRequest): Promise<JobInfo> => {
    const job = await knownJob(jobId);
    checkTaskId(taskId, job.numTasks);
    return job;
  };
  const write = async (request: WriteFields) => local.setEncoded(checkWireWrite(request));

  answer(jobCalls.createJob, (spec) => store.createJob(spec));
  answer(jobCalls.getJob, async ({ jobId }, call) => ({ job: await knownJob(jobId, call) }));
  answer(jobCalls.listJobs, (query, call) => store.listJobs(query, call));
  answer(jobCalls.updateJob, async (request) => {
    const { jobId, incarnation, setLabels, labels, setExpectedTags, expectedTags } = request;
    const patch = { ...(setLabels && { labels }), ...(setExpectedTags && { expectedTags }) };
    if (isFromTaskZero(request))
      return { applied: true, job: await store.updateJob(jobId, patch, { incarnation }) };
    return { applied: false, job: await unchangedJob(request) };
  });
  answer(jobCalls.markJobDeleted, async (request) => {
    const { jobId, incarnation } = request;
    const applied = isFromTaskZero(request);
    const job = applied
      ? await store.markJobDeleted(jobId, { incarnation })
      : await unchangedJob(request);
    return { applied, revision: job.revision, job };
  });
  answer(jobCalls.deleteJob, async (request) => {
    const { jobId, incarnation, ifRevision } = request;
    if (!isFromTaskZero(request))
      return { applied: false, revision: (await unchangedJob(request)).revision };
    const revision = await lastRevision(store, jobId);
    if (!(await store.deleteJob(jobId, { incarnation, ifRevision }))) throw noSuchJob(jobId);
    return { applied: true, revision };
  });
  answer(jobCalls.heartbeat, async (request) => ({ lease: await store.lease(request) }));
  answer(jobCalls.setState, write);
  answer(jobCalls.getState, async ({ jobId, scope }, { signal }) => {
    const { lowest, revision } = (await local.progress(jobId, scope, signal)).progress;
    return { state: encodeState(lowest), exists: lowest.version > 0, revision };
  });
  answer(jobCalls.listStates, ({ jobId, scope, afterRevision, limit: wanted }, { signal }) => {
    const limit = wanted === 0 ? jobsLimits.listStatesMax.value : wanted;
    return local.listEncoded(jobId, scope, { afterRevision, limit }, signal);
  });
  answer(jobCalls.getProgress, ({ jobId, scope }, { signal }) =>
    local.progress(jobId, scope, signal),
  );

  const streams = new OpenStreams(deps);
  const writeDeps = {
    ...deps,
    streams,
    countByPeer: new Map<string, number>(),
    failureOf: (thrown: unknown) => failureOf(thrown, deps),
    parse: (bytes: Uint8Array) => parseRequest(jobCalls.setState, bytes),
    setState: write,
  };
  definition[jobCalls.setStates.name] = methodOf(jobCalls.setStates.name, {
    requestStream: true,
    responseStream: true,
  });
  implementation[jobCalls.setStates.name] = (call: SetStatesCall) =>
    runSetStatesCall(writeDeps, call);

  const streamDeps = { ...deps, beat: new FrameBeat(deps), streams };
  definition[jobCalls.subscribe.name] = methodOf(jobCalls.subscribe.name, { responseStream: true });
  implementation[jobCalls.subscribe.name] = (call: SubscribeCall) =>
    withClientErrors(async () =>
      runSubscribeCall(streamDeps, call, parseRequest(jobCalls.subscribe, call.request)),
    );
  const answerBytesMax = {
    [jobCalls.listJobs.name]: jobsLimits.listJobsBytesMax.value,
    [jobCalls.listStates.name]: jobsLimits.listStatesBytesMax.value,
    [jobCalls.getProgress.name]: jobsLimits.progressBytesMax.value,
  };
  const fileDescriptors = async () =>
    (await import('@syncline/protocol/jobs')).jobsFileDescriptors();
  return { name: SERVICE, definition, implementation, answerBytesMax, fileDescriptors };
}

function methodOf(
  name: string,
  streams: Partial<Pick<BytesMethod, 'requestStream' | 'responseStream'>> = {},
): BytesMethod {
  return {
    path: `/${SERVICE}/${name}`,
    originalName: name,
    requestStream: false,
    responseStream: false,
    ...streams,
    requestSerialize: asBuffer,
    requestDeserialize: (bytes) => bytes,
    responseSerialize: asBuffer,
    responseDeserialize: (bytes) => bytes,
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function parseRequest<Request>(
  { name, request }: Pick<Call<Request, never>, 'name' | 'request'>,
  bytes: Uint8Array,
): Request {
  checkRequestBytes(name, bytes);
  return decode(request, bytes, { name: `${name}Request` });
}

/** The store is closed only when the server stops: for a client that is a reason to retry, not to give up. */
function failureOf(thrown: unknown, { limitReached }: JobGrpcDeps): unknown {
  if (!(thrown instanceof SynclineError)) return thrown;
  const limit = reachedLimitOf(thrown);
  if (limit !== undefined) limitReached(limit);
  if (thrown.code !== 'closed') return thrown;
  const { outcome } = thrown;
  return new SynclineError('unavailable', 'the server is stopping', { outcome, cause: thrown });
}

function isFromTaskZero({ taskId = 0 }: Pick<GlobalRequest, 'taskId'>): boolean {
  return taskId === 0;
}
