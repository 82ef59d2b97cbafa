// syncline.jobs.v1.JobService for grpc-js. The contract has a codec of its own, so gRPC carries plain bytes; the
// descriptors are there for reflection alone.
//
// What a request may hold is checked here as far as its form goes, and by the store as far as its values go.
import type { MethodDefinition, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { type CallOptions, jobsLimits } from '@syncline/jobs';
import {
  type Call,
  createJob,
  decode,
  deleteJob,
  encode,
  getJob,
  getProgress,
  getState,
  heartbeat,
  listJobs,
  listStates,
  markJobDeleted,
  SERVICE,
  type SetStateRequest,
  setState,
  setStates,
  subscribe,
  updateJob,
} from '@syncline/jobs/grpc';
import { type Clock, SynclineError } from '@syncline/kernel';
import { jobsFileDescriptors } from '@syncline/protocol/jobs';
import type { GrpcService } from '../../grpc/grpc-service.js';
import { FrameBeat } from './frame-beat.js';
import { type JobCallDeps, type JobCalls, jobCalls } from './job-grpc-calls.js';
import { runSubscribeCall, type SubscribeCall } from './job-grpc-stream.js';
import { runSetStatesCall, type SetStatesCall } from './job-grpc-writes.js';
import { OpenStreams } from './open-streams.js';
import { reachedLimitOf } from './reached-limit.js';

export interface JobGrpcDeps extends JobCallDeps {
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
  const calls = jobCalls(deps);
  const definition: Record<string, BytesMethod> = {};
  const implementation: Record<string, Handler> = {};

  function answer<Request, Response>(
    call: Call<Request, Response>,
    handle: (request: Request, arrived: BytesCall) => Promise<Response>,
  ): void {
    definition[call.name] = methodOf(call.name);
    implementation[call.name] = async (arrived: BytesCall, reply) => {
      try {
        const request = parseRequest(call, arrived.request);
        reply(null, encode(call.response, await handle(request, arrived)));
      } catch (thrown) {
        throw failureOf(thrown, deps);
      }
    };
  }

  /** Nobody waits for a read whose client has gone. */
  function answerRead<Request, Response>(
    call: Call<Request, Response>,
    read: (request: Request, call: CallOptions) => Promise<Response>,
  ): void {
    answer(call, (request, arrived) => {
      const gone = new AbortController();
      arrived.on('cancelled', () => gone.abort());
      return read(request, { signal: gone.signal });
    });
  }

  answer(createJob, calls.createJob);
  answerRead(getJob, calls.getJob);
  answerRead(listJobs, calls.listJobs);
  answer(updateJob, calls.updateJob);
  answer(markJobDeleted, calls.markJobDeleted);
  answer(deleteJob, calls.deleteJob);
  answer(heartbeat, calls.heartbeat);
  answer(setState, calls.setState);
  answerRead(getState, calls.getState);
  answerRead(listStates, calls.listStates);
  answerRead(getProgress, calls.getProgress);

  const streams = new OpenStreams(deps);
  const writeDeps = { ...deps, streams, ...writesOf(calls, deps) };
  definition[setStates.name] = methodOf(setStates.name, {
    requestStream: true,
    responseStream: true,
  });
  implementation[setStates.name] = (call: SetStatesCall) => runSetStatesCall(writeDeps, call);

  const streamDeps = { ...deps, beat: new FrameBeat(deps), streams };
  definition[subscribe.name] = methodOf(subscribe.name, { responseStream: true });
  implementation[subscribe.name] = async (call: SubscribeCall) => {
    try {
      await runSubscribeCall(streamDeps, call, parseRequest(subscribe, call.request));
    } catch (thrown) {
      throw failureOf(thrown, deps);
    }
  };
  return { name: SERVICE, definition, implementation, fileDescriptors: jobsFileDescriptors() };
}

/** What a stream of writes asks for each of them. */
function writesOf({ setState: set }: Pick<JobCalls, 'setState'>, deps: JobGrpcDeps) {
  return {
    failureOf: (thrown: unknown) => failureOf(thrown, deps),
    parse(bytes: Uint8Array) {
      try {
        return parseRequest(setState, bytes);
      } catch (thrown) {
        throw failureOf(thrown, deps);
      }
    },
    async setState(request: SetStateRequest) {
      try {
        return await set(request);
      } catch (thrown) {
        throw failureOf(thrown, deps);
      }
    },
  };
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
  const { value: bytesMax } = jobsLimits.requestBytesMax;
  if (bytes.length > bytesMax)
    throw new SynclineError(
      'limit-exceeded',
      `a ${name} request of ${bytes.length} bytes; ${bytesMax} is the limit. Send less at once.`,
      { details: { limit: 'requestBytesMax' } },
    );
  return decode(request, bytes, { name: `${name}Request` });
}

/** The store is closed only when the server stops: for a client that is a reason to come back, not to give up. */
function failureOf(thrown: unknown, { limitReached }: JobGrpcDeps): unknown {
  if (!(thrown instanceof SynclineError)) return thrown;
  const limit = reachedLimitOf(thrown);
  if (limit !== undefined) limitReached(limit);
  if (thrown.code !== 'closed') return thrown;
  const { outcome } = thrown;
  return new SynclineError('unavailable', 'the server is stopping', { outcome, cause: thrown });
}
