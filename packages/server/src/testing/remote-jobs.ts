// A job server, a remote store and a fault proxy between them, all in one process.
import {
  type JobInfo,
  type JobStore,
  jobsLimits,
  jobsMetrics,
  type State,
  type StateWrite,
} from '@syncline/jobs';
import { createRemoteJobStore, localStore } from '@syncline/jobs/grpc';
import { TimerCount } from '@syncline/jobs/testing';
import { type Address, type Clock, createSystemClock, formatAddress } from '@syncline/kernel';
import type { Slice } from '../slice.js';
import { jobGrpcService } from '../slices/jobs/job-grpc.js';
import { startTestServer, type TestServer, type TestServerOptions } from './test-server.js';

/** The fault proxy of the testkit, which only tests may import. */
interface Proxy extends AsyncDisposable {
  readonly address: Address;
}

export interface RemoteJobs<P extends Proxy> extends AsyncDisposable {
  readonly store: JobStore;
  readonly clock: Clock;
  /** Of the remote store. */
  readonly pendingTimers: () => number;
  readonly proxy: P;
  readonly server: TestServer;
  /** `HOST:PORT` of the proxy. */
  readonly address: string;
}

/** Tests cut connections all the time. */
const fastReconnect = { attempts: 100, initialMs: 10, maxMs: 50 } as const;

/** `behind` is the store of the server; the server closes it. */
export async function startRemoteJobs<P extends Proxy>(
  behind: JobStore,
  startProxy: (options: { readonly target: Address }) => Promise<P>,
  options: TestServerOptions = {},
): Promise<RemoteJobs<P>> {
  const server = await startTestServer([jobsSlice(behind)], options);
  const target = { host: '127.0.0.1', port: server.port('grpc') };
  const proxy = await startProxy({ target });
  const address = formatAddress(proxy.address);
  const clock = new TimerCount(createSystemClock());
  const store = createRemoteJobStore({ address, reconnect: fastReconnect }, { clock });
  return {
    store,
    clock,
    pendingTimers: () => clock.pending,
    proxy,
    server,
    address,
    async [Symbol.asyncDispose]() {
      await store.close();
      await proxy[Symbol.asyncDispose]();
      await server.stop();
    },
  };
}

function jobsSlice(store: JobStore): Slice {
  return {
    name: 'jobs',
    metrics: jobsMetrics,
    limits: jobsLimits,
    listeners: ['grpc'],
    start: async (deps) => ({
      grpc: [jobGrpcService({ ...deps, store })],
      status: () => ({ health: { kind: 'ready' }, details: {} }),
      stop: () => store.close(),
    }),
  };
}

/**
 * The methods through which the server passes encoded states to the store. A test replaces them to delay the
 * server or make it fail; direct calls to the store are not affected. Call this before the server starts.
 */
export function replaceableCalls(store: JobStore): ReturnType<typeof localStore> {
  return localStore(store);
}

/** Claims all tasks of a job and writes states, one per call. */
export class JobWriter {
  readonly #store: JobStore;
  readonly #job: JobInfo;
  readonly #epochs: readonly number[];
  #writesCount = 0;

  private constructor(store: JobStore, job: JobInfo, epochs: readonly number[]) {
    this.#store = store;
    this.#job = job;
    this.#epochs = epochs;
  }

  static async create(store: JobStore, jobId: string, numTasks: number): Promise<JobWriter> {
    const { job } = await store.createJob({ jobId, numTasks });
    const { incarnation } = job;
    const epochs: number[] = [];
    for (let taskId = 0; taskId < numTasks; taskId += 1) {
      const action = 'claim';
      const request = {
        jobId,
        incarnation,
        taskId,
        action,
        epoch: 0,
        ttlMs: 0,
        holder: '',
      } as const;
      epochs.push((await store.lease(request)).epoch);
    }
    return new JobWriter(store, job, epochs);
  }

  /** What `set` would send. Each write has its own event id. */
  write(taskId: number, tag: string, more: Partial<StateWrite> = {}): StateWrite {
    this.#writesCount += 1;
    const { jobId, incarnation } = this.#job;
    return {
      jobId,
      incarnation,
      taskId,
      epoch: this.#epochs[taskId] ?? 0,
      tag,
      status: 20,
      message: `write ${this.#writesCount}`,
      schemaVersion: 1,
      eventId: `e${this.#writesCount}`,
      ...more,
    };
  }

  async set(taskId: number, tag: string, more?: Partial<StateWrite>): Promise<State> {
    const result = await this.#store.setState(this.write(taskId, tag, more));
    if (!result.applied) throw new Error('the write was not applied');
    return result.state;
  }
}
