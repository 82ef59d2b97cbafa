// The jobs of a server. What is wrong with a call is said here, with the same words as there, before it is sent.
//
// One connection carries all calls with an answer, and the stream of writes; subscriptions have connections of their
// own.
import { abortedError, type Clock, type Random, SynclineError } from '@syncline/kernel';
import type { GrpcTarget } from '@syncline/protocol';
import { checkStateWrite } from '../checks/checked-write.js';
import { checkJobPatch, checkJobQuery, checkJobSpec } from '../checks/job-input.js';
import { checkCount, checkPageLimit, checkTaskId } from '../checks/numbers.js';
import { checkLeaseRequest, checkScope } from '../checks/task-input.js';
import { checkJobId, checkTag } from '../checks/text.js';
import { progressWithPayloads } from '../engine/engine-job-store.js';
import { decodeStoredState } from '../engine/stored-change.js';
import type {
  JobInfo,
  JobList,
  JobPatch,
  JobQuery,
  JobSpec,
  LeaseRequest,
  TaskLease,
} from '../job.js';
import type { JobSubscription, StoreSubscribeOptions } from '../job-event.js';
import type {
  CallOptions,
  DeleteOptions,
  JobCallOptions,
  JobStore,
  SetStateResult,
  StatePage,
  StateWrite,
  StoreCapabilities,
} from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { Progress } from '../progress.js';
import type { ReconnectOptions } from '../reconnect.js';
import type { Scope, State } from '../state.js';
import {
  type Call,
  createJob,
  deleteJob,
  type GlobalRequest,
  getJob,
  getProgress,
  getState,
  heartbeat,
  listJobs,
  listStates,
  markJobDeleted,
  type SetStateRequest,
  setState,
  updateJob,
} from '../wire/calls.js';
import { labelList } from '../wire/job-messages.js';
import { encode } from '../wire/proto-message.js';
import { withPayload } from '../wire/state-message.js';
import { ChannelPool } from './channel-pool.js';
import { closedError, JobChannel } from './job-channel.js';
import { RemoteSubscription } from './remote-subscription.js';
import { RemoteWrites } from './remote-writes.js';
import { notTheContract, readError } from './status-error.js';

export interface RemoteDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: JobsMetrics;
}

export interface RemoteOptions {
  readonly target: GrpcTarget;
  readonly reconnect: Required<ReconnectOptions>;
}

export class RemoteJobStore implements JobStore {
  /** Of a server with a store of its own. One before Firestore offers less, and `synced` tells its history. */
  readonly capabilities: StoreCapabilities = {
    history: 'all',
    reads: 'linearizable',
    durability: 'synced',
    lost: 'store',
  };
  readonly #deps: RemoteDeps;
  readonly #options: RemoteOptions;
  readonly #channel: JobChannel;
  readonly #writes: RemoteWrites;
  readonly #pool: ChannelPool;
  readonly #subscriptions = new Set<RemoteSubscription>();
  #isClosed = false;

  constructor(deps: RemoteDeps, options: RemoteOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#channel = new JobChannel(deps, options.target);
    this.#writes = new RemoteWrites({ ...deps, ...options, channel: this.#channel });
    this.#pool = new ChannelPool(deps, options.target);
  }

  async createJob(spec: JobSpec, call?: CallOptions) {
    const { labels, ...checked } = checkJobSpec(spec);
    return this.#write(createJob, { ...checked, labels: labelList(labels) }, call);
  }

  async getJob(jobId: string, call?: CallOptions): Promise<JobInfo | undefined> {
    const request = { jobId: checkJobId(jobId) };
    return (await orMissing(this.#read(getJob, request, call)))?.job;
  }

  async listJobs(query: JobQuery, call?: CallOptions): Promise<JobList> {
    const { prefix = '', worst, afterJobId = '', limit } = checkJobQuery(query);
    const request = { prefix, worst, afterJobId, limit };
    const { jobs, next, damaged } = await this.#read(listJobs, request, call);
    return { jobs, ...(damaged.length > 0 && { damaged }), ...(next !== '' && { next }) };
  }

  async updateJob(jobId: string, patch: JobPatch, call?: JobCallOptions): Promise<JobInfo> {
    const { labels, expectedTags } = checkJobPatch(patch);
    const request = {
      jobId: checkJobId(jobId),
      taskId: undefined,
      setLabels: labels !== undefined,
      labels: labelList(labels ?? {}),
      setExpectedTags: expectedTags !== undefined,
      expectedTags: expectedTags ?? [],
      incarnation: call?.incarnation ?? '',
    };
    return (await this.#write(updateJob, request, call)).job;
  }

  async markJobDeleted(jobId: string, call?: JobCallOptions): Promise<JobInfo> {
    return (await this.#write(markJobDeleted, globalRequest(jobId, call), call)).job;
  }

  async deleteJob(jobId: string, call?: DeleteOptions): Promise<boolean> {
    const request = { ...globalRequest(jobId, call), ifRevision: call?.ifRevision };
    return (await orMissing(this.#write(deleteJob, request, call))) !== undefined;
  }

  async lease(request: LeaseRequest, call?: CallOptions): Promise<TaskLease> {
    return (await this.#write(heartbeat, checkLeaseRequest(request), call)).lease;
  }

  async setState(write: StateWrite, call?: CallOptions): Promise<SetStateResult> {
    const checked = checkStateWrite(write);
    const signal = this.#checkCall(setState.name, call);
    const answer = await this.#writes.ask({
      write: encode(setState.request, checked as SetStateRequest),
      signal,
    });
    const { applied, duplicate } = answer;
    const state = this.#decode(answer.state, checked.jobId);
    return applied
      ? { applied: true, duplicate, state }
      : { applied: false, reason: 'version', current: state };
  }

  async listStates(
    jobId: string,
    scope: Scope,
    page: { readonly afterRevision: number; readonly limit: number },
    call?: CallOptions,
  ): Promise<StatePage> {
    const request = {
      jobId: checkJobId(jobId),
      scope: checkScope(scope),
      afterRevision: checkCount(page.afterRevision, 'afterRevision'),
      limit: checkPageLimit(page.limit, jobsLimits.listStatesMax.value),
    };
    const found = await this.#read(listStates, request, call);
    return { ...found, states: found.states.map((bytes) => this.#decode(bytes, jobId)) };
  }

  async getState(
    jobId: string,
    taskId: number,
    tag: string,
    call?: CallOptions,
  ): Promise<State | undefined> {
    const scope = { taskId: checkTaskId(taskId), tag: checkTag(tag) };
    const request = { jobId: checkJobId(jobId), scope };
    const { state, exists } = await this.#read(getState, request, call);
    return exists ? this.#decode(state, jobId) : undefined;
  }

  async aggregate(jobId: string, scope: Scope, call?: CallOptions): Promise<Progress> {
    const request = { jobId: checkJobId(jobId), scope: checkScope(scope) };
    return progressWithPayloads((await this.#read(getProgress, request, call)).progress);
  }

  async listLost(jobId: string, call?: CallOptions): Promise<readonly TaskLease[]> {
    const request = { jobId: checkJobId(jobId), scope: undefined };
    return (await this.#read(getProgress, request, call)).lost;
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    const subscription = new RemoteSubscription(
      {
        ...this.#deps,
        ...this.#options,
        pool: this.#pool,
        checkOpen: () => this.#checkOpen(),
        onEnd: (ended) => void this.#subscriptions.delete(ended),
      },
      jobId,
      options,
    );
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const subscription of [...this.#subscriptions]) subscription.close();
    this.#writes.close();
    this.#channel.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #read<Request extends object, Response>(
    method: Call<Request, Response>,
    request: Request,
    call: CallOptions | undefined,
  ): Promise<Response> {
    try {
      return await this.#write(method, request, call);
    } catch (thrown) {
      throw readError(thrown);
    }
  }

  #write<Request extends object, Response>(
    method: Call<Request, Response>,
    request: Request,
    call: CallOptions | undefined,
  ): Promise<Response> {
    const signal = this.#checkCall(method.name, call);
    return this.#channel.ask(method, request, { signal, jobId: jobIdOf(request) });
  }

  #checkCall(name: string, call: CallOptions | undefined): AbortSignal | undefined {
    this.#checkOpen();
    const { signal } = call ?? {};
    if (signal?.aborted) throw abortedError(name, signal);
    return signal;
  }

  /** The server may speak another contract. */
  #decode(bytes: Uint8Array, jobId: string): State {
    try {
      return withPayload(decodeStoredState(bytes, jobId));
    } catch (thrown) {
      throw notTheContract(this.#options.target, SynclineError.from(thrown));
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw closedError();
  }
}

function globalRequest(jobId: string, { incarnation = '' }: JobCallOptions = {}): GlobalRequest {
  return { jobId: checkJobId(jobId), taskId: undefined, incarnation };
}

/** A list of jobs is of no job, and holds no states. */
function jobIdOf(request: object): string {
  return 'jobId' in request && typeof request.jobId === 'string' ? request.jobId : '';
}

async function orMissing<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  try {
    return await answer;
  } catch (thrown) {
    if (thrown instanceof SynclineError && thrown.code === 'not-found') return undefined;
    throw thrown;
  }
}
