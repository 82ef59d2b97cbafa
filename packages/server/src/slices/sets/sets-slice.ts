// Sets as a slice of the server: sessions behind RESP, their directory, and a page of facts.
import { SynclineError } from '@syncline/kernel';
import { openSets, type Sets, setsLimits, setsMetrics } from '@syncline/sets';
import { reportBug } from '../../handler-bug.js';
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

/** Resolves before the data is loaded: clients are answered `-LOADING` meanwhile, and /readyz says how far it is. */
async function start(deps: SliceDeps): Promise<RunningSlice> {
  const { config, logger } = deps;
  const password = config.credentials.respPassword?.reveal();
  const sets = await openSets(
    {
      ...deps,
      files: await deps.openFiles(),
      processBytes: () => process.memoryUsage.rss(),
      onBug: (thrown) => void reportBug(logger, thrown, { slice: 'sets' }),
    },
    {
      nodeId: config.nodeId,
      clusterId: config.mesh.clusterId,
      durability: config.sets.durability,
      memoryBytesMax: config.sets.memoryMaxBytes,
      ...(password === undefined ? {} : { password }),
      version: readVersion(),
      port: config.resp.port,
      connectionsMax: config.resp.connectionsMax,
      serveWhileLoading: true,
    },
  );
  sets.loaded.catch((thrown: unknown) => deps.fail(SynclineError.from(thrown, 'corrupt')));
  return {
    resp: sets,
    http: setsRoutes(sets),
    status: () => statusOf(sets),
    stop: () => sets.close(),
  };
}

function statusOf(sets: Sets): SliceStatus {
  const { health, reason, connections: _, liveDots, ...details } = sets.status();
  return { health: healthOf(health, reason), details: { ...details, elements: liveDots } };
}

/** With a full disk a node goes on answering reads, so it stays ready. */
function healthOf(health: ReturnType<Sets['status']>['health'], reason = ''): SliceHealth {
  switch (health) {
    case 'ready':
      return { kind: 'ready' };
    case 'full':
      return { kind: 'ready', reason };
    case 'loading':
      return { kind: 'not-ready', reason };
    case 'failed':
      return { kind: 'failed', reason };
  }
}
