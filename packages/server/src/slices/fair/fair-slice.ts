// Fair as a slice of the server: the state service over gRPC, its store, its HTTP routes and its view.
import { fairLimits, fairMetrics, StateService } from '@syncline/fair';
import { serverLimits } from '../../limits.js';
import type { RunningSlice, Slice, SliceDeps, SliceStatus } from '../../slice.js';
import { CallerReports } from './caller-reports.js';
import { fairRoutes } from './fair-routes.js';
import { fairStoreKind, openFairStore } from './fair-store.js';
import { fairRates, fairView } from './fair-view.js';
import { stateGrpcService } from './state-grpc.js';

export function createFairSlice(): Slice {
  return {
    name: 'fair',
    metrics: fairMetrics,
    limits: fairLimits,
    listeners: ['grpc'],
    start,
  };
}

async function start(deps: SliceDeps): Promise<RunningSlice> {
  const { config, draining } = deps;
  const store = await openFairStore(deps);
  const service = new StateService({ ...deps, store }, config.fair);
  // Ends the streams before connections are closed. Clients decide on their own until they reach a server again.
  draining.addEventListener('abort', () => void service.close(), { once: true });
  const callers = new CallerReports(deps.clock);
  const bytesInFlightMax = serverLimits.fairStreamBytesMax.value;
  return {
    grpc: [stateGrpcService({ ...deps, service }, { bytesInFlightMax })],
    http: [...fairRoutes(service, callers), callers.route],
    views: [fairView(service, callers)],
    rates: fairRates,
    status: () => statusOf(service, deps),
    async stop() {
      await service.close();
      await store.close();
    },
  };
}

function statusOf(service: StateService, { config }: SliceDeps): SliceStatus {
  const { streams, trackers, isReachable } = service.status();
  return {
    health: isReachable
      ? { kind: 'ready' }
      : { kind: 'not-ready', reason: 'Redis is unreachable; state is not shared' },
    details: { store: fairStoreKind(config), streams, trackers },
  };
}
