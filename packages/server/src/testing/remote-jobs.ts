// A server of jobs, a remote store that calls it, and a bad network between the two: all in one process.
import { type JobStore, jobsLimits, jobsMetrics } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { type Clock, createSystemClock, formatAddress } from '@syncline/kernel';
import { type FaultProxy, startFaultProxy } from '@syncline/testkit';
import type { Slice } from '../slice.js';
import { jobGrpcService } from '../slices/jobs/job-grpc.js';
import { startTestServer, type TestServer } from './test-server.js';

export interface RemoteJobs extends AsyncDisposable {
  readonly store: JobStore;
  readonly clock: Clock;
  readonly proxy: FaultProxy;
  readonly server: TestServer;
  /** `HOST:PORT` of the proxy. */
  readonly address: string;
}

/** Comes back soon, and often: tests cut connections all the time. */
export const hastyReconnect = { attempts: 100, initialMs: 10, maxMs: 50 } as const;

/** `behind` is the store of the server, who closes it. */
export async function startRemoteJobs(behind: JobStore): Promise<RemoteJobs> {
  const server = await startTestServer([jobsSlice(behind)]);
  const proxy = await startFaultProxy({
    target: { host: '127.0.0.1', port: server.port('grpc') },
  });
  const address = formatAddress(proxy.address);
  const clock = createSystemClock();
  const store = createRemoteJobStore({ address, reconnect: hastyReconnect }, { clock });
  return {
    store,
    clock,
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
