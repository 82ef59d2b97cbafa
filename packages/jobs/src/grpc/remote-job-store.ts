// The jobs of a server. Arguments are checked before a call is sent. One connection carries all unary calls and the
// stream of writes; subscriptions have separate connections.
import { SynclineError, silentMetrics } from '@syncline/kernel';
import { encode } from '@syncline/kernel/wire';
import { checkGrpcOptions, checkGrpcTarget, type GrpcTargetOptions } from '@syncline/protocol/grpc';
import { hasCode } from '../core/refusals.js';
import { CheckedJobStore, type StoreReads, type StoreWrites } from '../engine/checked-job-store.js';
import { type EngineDeps, withSystemDeps } from '../engine/store-adapter.js';
import { mapProgress } from '../job.js';
import {
  ALL_CAPABILITIES,
  type JobStore,
  type JobSubscription,
  type StoreSubscribeOptions,
} from '../job-store.js';
import { checkReconnect, type ReconnectOptions } from '../reconnect.js';
import { type Call, jobCalls } from '../wire/calls.js';
import { ChannelPool, contractError, JobChannel } from './job-channel.js';
import {
  type RemoteDeps,
  RemoteSubscription,
  type RemoteSubscriptionDeps,
} from './remote-subscription.js';
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
  checkGrpcOptions('createRemoteJobStore', options, known);
  const target = checkGrpcTarget('the remote job store', options);
  const reconnect = checkReconnect(options.reconnect);
  return new RemoteJobStore({ ...withSystemDeps(deps), target, reconnect });
}

class RemoteJobStore extends CheckedJobStore {
  /** Those of a server with its own store. A server backed by Firestore has fewer; `synced` reports its history. */
  readonly capabilities = ALL_CAPABILITIES;
  protected readonly reads: StoreReads;
  protected readonly writes: StoreWrites;
  readonly #deps: RemoteSubscriptionDeps;
  readonly #channel: JobChannel;
  readonly #stateWrites: RemoteWrites;
  readonly #subscriptions = new Set<RemoteSubscription>();

  constructor(deps: RemoteDeps) {
    super({ clock: deps.clock, metrics: silentMetrics });
    this.#deps = {
      ...deps,
      pool: new ChannelPool(deps),
      checkOpen: () => this.begin(undefined),
      onEnd: (ended) => void this.#subscriptions.delete(ended),
    };
    this.#channel = new JobChannel(deps);
    this.#stateWrites = new RemoteWrites({ ...deps, channel: this.#channel });
    this.reads = this.writes = remoteCalls(this.#channel, this.#stateWrites);
  }

  subscribe(jobId: string, options: StoreSubscribeOptions): JobSubscription {
    const subscription = new RemoteSubscription(this.#deps, jobId, options);
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** The server may implement a different contract. */
  protected override decode<T>(decodeNow: () => T): T {
    try {
      return decodeNow();
    } catch (thrown) {
      throw contractError(this.#deps.target, thrown);
    }
  }

  protected override async end(): Promise<void> {
    this.#stateWrites.close();
    this.#channel.close();
    for (const subscription of [...this.#subscriptions]) subscription.close();
  }
}

function remoteCalls(channel: JobChannel, stateWrites: RemoteWrites): StoreReads & StoreWrites {
  /** Changes nothing, so its outcome is never unknown. */
  const read = <Request, Response>(
    call: Call<Request, Response>,
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<Response> =>
    channel.ask(call, request, signal).catch((thrown: unknown) => {
      throw thrown instanceof SynclineError ? thrown.withOutcome('not-applied') : thrown;
    });
  return {
    createJob: (spec, signal) => channel.ask(jobCalls.createJob, spec, signal),
    getJob: async (jobId, signal) =>
      (await undefinedIfMissing(read(jobCalls.getJob, { jobId }, signal)))?.job,
    async listJobs(query, signal) {
      const { damaged = [], ...list } = await read(jobCalls.listJobs, query, signal);
      return damaged.length === 0 ? list : { ...list, damaged };
    },
    async updateJob(meant, patch, signal) {
      const request = {
        ...meant,
        ...{ setLabels: patch.labels !== undefined, labels: {} },
        ...{ setExpectedTags: patch.expectedTags !== undefined, expectedTags: [] },
        ...patch,
      };
      return (await channel.ask(jobCalls.updateJob, request, signal)).job;
    },
    markJobDeleted: async (meant, signal) =>
      (await channel.ask(jobCalls.markJobDeleted, meant, signal)).job,
    deleteJob: async (meant, signal) =>
      (await undefinedIfMissing(channel.ask(jobCalls.deleteJob, meant, signal))) !== undefined,
    lease: async (request, signal) =>
      (await channel.ask(jobCalls.heartbeat, request, signal)).lease,
    setState: (write, signal) => stateWrites.ask(encode(jobCalls.setState.request, write), signal),
    listStates: (jobId, scope, page, signal) =>
      read(jobCalls.listStates, { jobId, scope, ...page }, signal),
    async getState(jobId, scope, signal) {
      const { state, exists } = await read(jobCalls.getState, { jobId, scope }, signal);
      return exists ? state : undefined;
    },
    async progress(jobId, scope, signal) {
      const found = await read(jobCalls.getProgress, { jobId, scope }, signal);
      return { ...found, progress: mapProgress(found.progress, (state) => ({ ...state, jobId })) };
    },
  };
}

function undefinedIfMissing<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  return answer.catch((thrown: unknown) => {
    if (hasCode(thrown, 'not-found')) return undefined;
    throw thrown;
  });
}
