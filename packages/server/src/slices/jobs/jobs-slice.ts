// Jobs as a slice of the server: the job service behind gRPC, HTTP with events, the store, and retention.
import { jobsLimits, jobsMetrics } from '@syncline/jobs';
import type { RunningSlice, Slice, SliceDeps } from '../../slice.js';
import { jobGrpcService } from './job-grpc.js';
import { jobRoutes } from './job-routes.js';
import { jobStoreKind, openJobStore } from './jobs-store.js';
import { JobsViews, jobsRates } from './jobs-view.js';
import { RetentionSweeper } from './retention.js';

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
  const sweeper = new RetentionSweeper({ ...deps, store }, config.jobs.retention);
  const views = new JobsViews({ ...deps, store });
  return {
    grpc: [jobGrpcService({ ...deps, store })],
    http: [...jobRoutes({ ...deps, store }), ...views.routes],
    views: views.views,
    rates: jobsRates,
    // A failed disk shows in the storage check: reads continue, and the node is not ready.
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
