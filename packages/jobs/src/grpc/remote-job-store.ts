// The jobs of a server. Arguments are checked before a call is sent. One connection carries all unary calls and the
// stream of writes; subscriptions have separate connections.
import { silentMetrics } from '@syncline/kernel';
import { checkKnownKeys } from '@syncline/kernel/checks';
import { encode } from '@syncline/kernel/wire';
import { checkGrpcTarget, type GrpcTargetOptions } from '@syncline/protocol/grpc';
import type { MeantJob } from '../core/decisions.js';
import { hasCode } from '../core/refusals.js';
import { CheckedJobStore, type StoreReads, type StoreWrites } from '../engine/checked-job-store.js';
import { type EngineDeps, withSystemDeps } from '../engine/store-adapter.js';
import { mapProgress, type State } from '../job.js';
import {
  ALL_CAPABILITIES,
  type JobStore,
  type JobSubscription,
  type StoreSubscribeOptions,
} from '../job-store.js';
import { checkReconnect, type ReconnectOptions } from '../reconnect.js';
import { type Call, type GlobalRequest, jobCalls } from '../wire/calls.js';
import { ChannelPool, contractError, JobChannel, readError } from './job-channel.js';
import { type RemoteDeps, RemoteSubscription } from './remote-subscription.js';
import { RemoteWrites } from './remote-writes.js';

export interface RemoteJobStoreOptions extends GrpcTargetOptions {
  /** How a subscription that lost its connection reconnects. */
  readonly reconnect?: ReconnectOptions;
}

/** Defaults: the system clock and randomness, and no metrics. */
export type RemoteJobStoreDeps = Partial<Omit<EngineDeps, 'logger'>>;

/** Connects on the first call. Throws `invalid-argument`, with `details.field`. */
export function createRemoteJobStore(
  options: RemoteJobStoreOptions,
  deps: RemoteJobStoreDeps = {},
): JobStore {
  const known = { address: true, tls: true, token: true, reconnect: true };
  checkKnownKeys(options, 'the options of createRemoteJobStore', known);
  const target = checkGrpcTarget('the remote job store', options);
  const reconnect = checkReconnect(options.reconnect);
  return new RemoteJobStore({ ...withSystemDeps(deps), target, reconnect });
}

type Signal = AbortSignal | undefined;

class RemoteJobStore extends CheckedJobStore {
  /** Those of a server with its own store. A server backed by Firestore has fewer; `synced` reports its history. */
  readonly capabilities = ALL_CAPABILITIES;
  protected readonly reads: RemoteCalls;
  protected readonly writes: RemoteCalls;
  readonly #deps: RemoteDeps;
  readonly #pool: ChannelPool;
  readonly #subscriptions = new Set<RemoteSubscription>();

  constructor(deps: RemoteDeps) {
    super({ clock: deps.clock, metrics: silentMetrics });
    this.#deps = deps;
    this.reads = this.writes = new RemoteCalls(deps);
    this.#pool = new ChannelPool(deps);
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    const deps = {
      ...this.#deps,
      pool: this.#pool,
      checkOpen: () => this.begin(undefined),
      onEnd: (ended: RemoteSubscription) => void this.#subscriptions.delete(ended),
    };
    const subscription = new RemoteSubscription(deps, jobId, options);
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** The server may implement a different contract. */
  protected override decode(bytes: Uint8Array, jobId: string): State {
    try {
      return super.decode(bytes, jobId);
    } catch (thrown) {
      throw contractError(this.#deps.target, thrown);
    }
  }

  protected override async end(): Promise<void> {
    this.writes.close();
    for (const subscription of [...this.#subscriptions]) subscription.close();
  }
}

class RemoteCalls implements StoreReads, StoreWrites {
  readonly #channel: JobChannel;
  readonly #stateWrites: RemoteWrites;

  constructor(deps: RemoteDeps) {
    this.#channel = new JobChannel(deps);
    this.#stateWrites = new RemoteWrites({ ...deps, channel: this.#channel });
  }

  createJob: StoreWrites['createJob'] = (spec, signal) =>
    this.#channel.ask(jobCalls.createJob, spec, signal);

  getJob: StoreReads['getJob'] = async (jobId, signal) =>
    (await orMissing(this.#read(jobCalls.getJob, { jobId }, signal)))?.job;

  listJobs: StoreReads['listJobs'] = async (query, signal) => {
    const { damaged = [], ...list } = await this.#read(jobCalls.listJobs, query, signal);
    return damaged.length === 0 ? list : { ...list, damaged };
  };

  updateJob: StoreWrites['updateJob'] = async (meant, patch, signal) => {
    const request = {
      ...operatorOf(meant),
      ...{ setLabels: patch.labels !== undefined, labels: {} },
      ...{ setExpectedTags: patch.expectedTags !== undefined, expectedTags: [] },
      ...patch,
    };
    return (await this.#channel.ask(jobCalls.updateJob, request, signal)).job;
  };

  markJobDeleted: StoreWrites['markJobDeleted'] = async (meant, signal) =>
    (await this.#channel.ask(jobCalls.markJobDeleted, operatorOf(meant), signal)).job;

  deleteJob: StoreWrites['deleteJob'] = async ({ ifRevision, ...meant }, signal) => {
    const request = { ...operatorOf(meant), ...(ifRevision !== undefined && { ifRevision }) };
    return (await orMissing(this.#channel.ask(jobCalls.deleteJob, request, signal))) !== undefined;
  };

  lease: StoreWrites['lease'] = async (request, signal) =>
    (await this.#channel.ask(jobCalls.heartbeat, request, signal)).lease;

  setState: StoreWrites['setState'] = (write, signal) =>
    this.#stateWrites.ask(encode(jobCalls.setState.request, write), signal);

  listStates: StoreReads['listStates'] = (jobId, scope, page, signal) =>
    this.#read(jobCalls.listStates, { jobId, scope, ...page }, signal);

  getState: StoreReads['getState'] = async (jobId, scope, signal) => {
    const { state, exists } = await this.#read(jobCalls.getState, { jobId, scope }, signal);
    return exists ? state : undefined;
  };

  progress: StoreReads['progress'] = async (jobId, scope, signal) => {
    const found = await this.#read(jobCalls.getProgress, { jobId, scope }, signal);
    return { ...found, progress: mapProgress(found.progress, (state) => ({ ...state, jobId })) };
  };

  close(): void {
    this.#stateWrites.close();
    this.#channel.close();
  }

  #read<Request, Response>(
    method: Call<Request, Response>,
    request: Request,
    signal: Signal,
  ): Promise<Response> {
    return this.#channel.ask(method, request, signal).catch((thrown: unknown) => {
      throw readError(thrown);
    });
  }
}

/** An operator's request has no task. */
function operatorOf({ jobId, incarnation }: MeantJob): GlobalRequest {
  return incarnation === undefined ? { jobId } : { jobId, incarnation };
}

function orMissing<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  return answer.catch((thrown: unknown) => {
    if (hasCode(thrown, 'not-found')) return undefined;
    throw thrown;
  });
}
