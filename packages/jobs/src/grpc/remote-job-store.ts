// The jobs of a server. Arguments are checked before a call is sent. One connection carries all unary calls and the
// stream of writes; subscriptions have separate connections.
import {
  abortedError,
  type Clock,
  createSystemClock,
  createSystemRandom,
  type Random,
  SynclineError,
  silentMetrics,
} from '@syncline/kernel';
import { encode } from '@syncline/kernel/wire';
import { checkGrpcTarget, type GrpcTarget, type GrpcTargetOptions } from '@syncline/protocol/grpc';
import type { CheckedWrite } from '../checks/checked-write.js';
import type { CheckedJobQuery } from '../checks/input.js';
import { checkKnownKeys } from '../checks/values.js';
import type { MeantJob } from '../core/decide-job.js';
import {
  CheckedJobStore,
  type DeletedJob,
  type EncodedPage,
  type EncodedResult,
  type JobProgress,
  type StoreEngine,
  type StoreReads,
  type StoreWrites,
} from '../engine/checked-job-store.js';
import {
  type JobInfo,
  type JobList,
  type JobPatch,
  type JobSpec,
  type LeaseRequest,
  mapProgress,
  type Scope,
  type State,
  type TaskLease,
} from '../job.js';
import {
  ALL_CAPABILITIES,
  type CreatedJob,
  type JobStore,
  type JobSubscription,
  type PageBounds,
  type StoreCapabilities,
  type StoreSubscribeOptions,
} from '../job-store.js';
import type { JobsMetrics } from '../metrics-list.js';
import { checkReconnect, type ReconnectOptions } from '../reconnect.js';
import { type Call, type GlobalRequest, jobCalls } from '../wire/calls.js';
import { ChannelPool, closedError, JobChannel, notTheContract, readError } from './job-channel.js';
import { RemoteSubscription } from './remote-subscription.js';
import { RemoteWrites } from './remote-writes.js';

export interface RemoteJobStoreOptions extends GrpcTargetOptions {
  /** How a subscription that lost its connection reconnects. */
  readonly reconnect?: ReconnectOptions;
}

const KNOWN: Readonly<Record<keyof RemoteJobStoreOptions, true>> = {
  address: true,
  tls: true,
  token: true,
  reconnect: true,
};

/** Defaults: the system clock and randomness, and no metrics. */
export interface RemoteJobStoreDeps {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly metrics?: JobsMetrics;
}

/** Connects on the first call. Throws `invalid-argument`, with `details.field`. */
export function createRemoteJobStore(
  options: RemoteJobStoreOptions,
  deps: RemoteJobStoreDeps = {},
): JobStore {
  const { clock = createSystemClock(), random = createSystemRandom() } = deps;
  const { metrics = silentMetrics } = deps;
  checkKnownKeys(options, 'the options of createRemoteJobStore', KNOWN);
  const target = checkGrpcTarget('the remote job store', options);
  const reconnect = checkReconnect(options.reconnect);
  return new RemoteJobStore({ clock, random, metrics }, { target, reconnect });
}

type RemoteDeps = Required<RemoteJobStoreDeps>;

interface RemoteOptions {
  readonly target: GrpcTarget;
  readonly reconnect: Required<ReconnectOptions>;
}

type Signal = AbortSignal | undefined;

class RemoteJobStore extends CheckedJobStore<RemoteEngine> {
  readonly #deps: RemoteDeps;
  readonly #options: RemoteOptions;
  readonly #pool: ChannelPool;
  readonly #subscriptions = new Set<RemoteSubscription>();

  constructor(deps: RemoteDeps, options: RemoteOptions) {
    super(new RemoteEngine(deps, options), { clock: deps.clock, metrics: silentMetrics });
    this.#deps = deps;
    this.#options = options;
    this.#pool = new ChannelPool(deps, options.target);
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    const subscription = new RemoteSubscription(
      {
        ...this.#deps,
        ...this.#options,
        pool: this.#pool,
        checkOpen: () => this.engine.begin(undefined),
        onEnd: (ended) => void this.#subscriptions.delete(ended),
      },
      jobId,
      options,
    );
    this.#subscriptions.add(subscription);
    return subscription;
  }

  override async close(): Promise<void> {
    await this.engine.close();
    for (const subscription of [...this.#subscriptions]) subscription.close();
  }

  /** The server may implement a different contract. */
  protected override decode(bytes: Uint8Array, jobId: string): State {
    try {
      return super.decode(bytes, jobId);
    } catch (thrown) {
      throw notTheContract(this.#options.target, SynclineError.from(thrown));
    }
  }
}

class RemoteEngine implements StoreEngine, StoreReads, StoreWrites {
  /** Those of a server with its own store. A server backed by Firestore has fewer; `synced` reports its history. */
  readonly capabilities: StoreCapabilities = ALL_CAPABILITIES;
  readonly reads = this;
  readonly writes = this;
  readonly #channel: JobChannel;
  readonly #stateWrites: RemoteWrites;
  #isClosed = false;

  constructor(deps: RemoteDeps, { target }: RemoteOptions) {
    this.#channel = new JobChannel(deps, target);
    this.#stateWrites = new RemoteWrites({ ...deps, target, channel: this.#channel });
  }

  begin(signal: Signal): void {
    if (this.#isClosed) throw closedError();
    if (signal?.aborted) throw abortedError('the call to the job store', signal);
  }

  createJob(spec: Required<JobSpec>, signal: Signal): Promise<CreatedJob> {
    return this.#channel.ask(jobCalls.createJob, spec, signal);
  }

  async getJob(jobId: string, signal: Signal): Promise<JobInfo | undefined> {
    return (await orMissing(this.#read(jobCalls.getJob, { jobId }, signal)))?.job;
  }

  async listJobs(query: CheckedJobQuery, signal: Signal): Promise<JobList> {
    const { damaged = [], ...list } = await this.#read(jobCalls.listJobs, query, signal);
    return damaged.length === 0 ? list : { ...list, damaged };
  }

  async updateJob(meant: MeantJob, patch: JobPatch, signal: Signal): Promise<JobInfo> {
    const request = {
      ...operatorOf(meant),
      ...{ setLabels: patch.labels !== undefined, labels: {} },
      ...{ setExpectedTags: patch.expectedTags !== undefined, expectedTags: [] },
      ...patch,
    };
    return (await this.#channel.ask(jobCalls.updateJob, request, signal)).job;
  }

  async markJobDeleted(meant: MeantJob, signal: Signal): Promise<JobInfo> {
    return (await this.#channel.ask(jobCalls.markJobDeleted, operatorOf(meant), signal)).job;
  }

  async deleteJob(meant: DeletedJob, signal: Signal): Promise<boolean> {
    const { ifRevision } = meant;
    const request = { ...operatorOf(meant), ...(ifRevision !== undefined && { ifRevision }) };
    return (await orMissing(this.#channel.ask(jobCalls.deleteJob, request, signal))) !== undefined;
  }

  async lease(request: LeaseRequest, signal: Signal): Promise<TaskLease> {
    return (await this.#channel.ask(jobCalls.heartbeat, request, signal)).lease;
  }

  setState(write: CheckedWrite, signal: Signal): Promise<EncodedResult> {
    return this.#stateWrites.ask(encode(jobCalls.setState.request, write), signal);
  }

  listStates(jobId: string, scope: Scope, page: PageBounds, signal: Signal): Promise<EncodedPage> {
    return this.#read(jobCalls.listStates, { jobId, scope, ...page }, signal);
  }

  async getState(jobId: string, scope: Scope, signal: Signal): Promise<Uint8Array | undefined> {
    const { state, exists } = await this.#read(jobCalls.getState, { jobId, scope }, signal);
    return exists ? state : undefined;
  }

  async progress(jobId: string, scope: Scope, signal: Signal): Promise<JobProgress> {
    const found = await this.#read(jobCalls.getProgress, { jobId, scope }, signal);
    return { ...found, progress: mapProgress(found.progress, (state) => ({ ...state, jobId })) };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stateWrites.close();
    this.#channel.close();
  }

  async #read<Request, Response>(
    method: Call<Request, Response>,
    request: Request,
    signal: Signal,
  ): Promise<Response> {
    try {
      return await this.#channel.ask(method, request, signal);
    } catch (thrown) {
      throw readError(thrown);
    }
  }
}

/** An operator's request has no task. */
function operatorOf({ jobId, incarnation }: MeantJob): GlobalRequest {
  return incarnation === undefined ? { jobId } : { jobId, incarnation };
}

async function orMissing<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  try {
    return await answer;
  } catch (thrown) {
    if (thrown instanceof SynclineError && thrown.code === 'not-found') return undefined;
    throw thrown;
  }
}
