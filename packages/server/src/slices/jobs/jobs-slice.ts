// Jobs as a slice of the server: the job service behind gRPC, HTTP with events, the store, and retention.
import { collectJobs, jobsLimits, jobsMetrics, type RetentionPolicy } from '@syncline/jobs';
import { parseDuration } from '../../config/duration.js';
import type { ServerConfig } from '../../config/server-config.js';
import type { RunningSlice, Slice, SliceDeps } from '../../slice.js';
import { jobGrpcService } from './job-grpc.js';
import { jobRoutes } from './job-routes.js';
import { jobStoreKind, openJobStore } from './jobs-store.js';
import { RetentionSweeper } from './retention-sweeper.js';

export function createJobsSlice(): Slice {
  return {
    name: 'jobs',
    metrics: jobsMetrics,
    limits: jobsLimits,
    listeners: ['grpc'],
    start,
  };
}

async function start(deps: SliceDeps): Promise<RunningSlice> {
  const { config } = deps;
  const { store, status } = await openJobStore(deps);
  const policy = retentionOf(config);
  const sweeper = new RetentionSweeper({
    ...deps,
    sweep: async (signal) => (await collectJobs(store, { ...policy, signal }, deps)).deleted.length,
  });
  return {
    grpc: [jobGrpcService({ ...deps, store })],
    http: jobRoutes({ ...deps, store }),
    // A disk that failed shows in the check of the storage: reads go on, and the node is not ready.
    status: () => ({
      health: { kind: 'ready' },
      details: { store: jobStoreKind(config), ...status() },
    }),
    async stop() {
      await sweeper.stop();
      await store.close();
    },
  };
}

function retentionOf({ jobs: { retention } }: ServerConfig): RetentionPolicy {
  return {
    finishedMs: parseDuration(retention.finished),
    markedMs: parseDuration(retention.marked),
    idleMs: parseDuration(retention.idle),
  };
}
