// Sets as a slice of the server: sessions behind RESP, their store, and a page of facts.
import { openSets, type Sets, setsLimits, setsMetrics } from '@syncline/sets';
import type { RunningSlice, Slice, SliceDeps, SliceHealth, SliceStatus } from '../../slice.js';
import { readVersion } from '../../version.js';
import { setsRoutes } from './sets-routes.js';

export function createSetsSlice(): Slice {
  return {
    name: 'sets',
    metrics: setsMetrics,
    limits: setsLimits,
    listeners: ['resp'],
    start,
  };
}

async function start(deps: SliceDeps): Promise<RunningSlice> {
  const { config } = deps;
  const storage = await deps.openStorage();
  const password = config.credentials.respPassword?.reveal();
  const sets = await openSets(
    { ...deps, storage },
    {
      nodeId: config.nodeId,
      clusterId: config.mesh.clusterId,
      ...config.sets,
      ...(password === undefined ? {} : { password }),
      version: readVersion(),
      port: config.resp.port,
      connectionsMax: config.resp.connectionsMax,
    },
  );
  return {
    resp: sets,
    http: setsRoutes(sets),
    status: () => statusOf(sets),
    stop: () => sets.close(),
  };
}

function statusOf(sets: Sets): SliceStatus {
  const status = sets.status();
  const { epoch, liveDots, headEntries } = status;
  return {
    health: healthOf(status),
    details: { sets: status.sets, elements: liveDots, epoch, unfolded: headEntries },
  };
}

/** With a full disk a node goes on to answer reads; the check of its storage says that it is full. */
function healthOf({ health, reason }: ReturnType<Sets['status']>): SliceHealth {
  if (health !== 'failed') return { kind: 'ready' };
  return { kind: 'failed', reason: reason ?? 'the sets cannot write any more' };
}
