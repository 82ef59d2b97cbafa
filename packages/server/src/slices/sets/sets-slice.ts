// Sets as a slice of the server: sessions behind RESP, their directory, and a page of facts.
import { join } from 'node:path';
import { SynclineError } from '@syncline/kernel';
import {
  openSets,
  type ReplicationStatus,
  type Sets,
  setsLimits,
  setsMetrics,
} from '@syncline/sets';
import type { ServerConfig } from '../../config/server-config.js';
import { reportBug } from '../../handler-bug.js';
import type { RunningSlice, Slice, SliceDeps, SliceHealth, SliceStatus } from '../../slice.js';
import { readVersion } from '../../version.js';
import { setsRoutes } from './sets-routes.js';
import { setsRates, setsViews } from './sets-view.js';

export function createSetsSlice(): Slice {
  return {
    name: 'sets',
    metrics: setsMetrics,
    limits: setsLimits,
    listeners: ['resp'],
    start,
  };
}

/** How long a start waits for the data. A longer load continues with `-LOADING` replies, and /readyz shows progress. */
const LOAD_WAIT_MS = 1_000;

async function start(deps: SliceDeps): Promise<RunningSlice> {
  try {
    return await open(deps);
  } catch (thrown) {
    throw located(thrown, deps.config);
  }
}

async function open(deps: SliceDeps): Promise<RunningSlice> {
  const { config, logger } = deps;
  const password = config.credentials.respPassword?.reveal();
  const { mesh, ...others } = deps;
  const sets = await openSets(
    {
      ...others,
      ...(mesh === undefined ? {} : { mesh }),
      files: await deps.openFiles(),
      processBytes: () => process.memoryUsage.rss(),
      onConflict: (error) => deps.fail(conflicting(error, config)),
      onBug: (thrown) => void reportBug(logger, thrown, { slice: 'sets' }),
    },
    {
      nodeId: config.nodeId,
      clusterId: config.mesh.clusterId,
      durability: config.sets.durability,
      memoryBytesMax: config.sets.memoryMaxBytes,
      startupDelayMs: config.sets.startupDelayMs,
      pullIntervalMs: config.sets.antiEntropyIntervalMs,
      ...(password === undefined ? {} : { password }),
      version: readVersion(),
      port: config.resp.port,
      connectionsMax: config.resp.connectionsMax,
      serveWhileLoading: true,
    },
  );
  await loadedOrLater(sets, deps);
  return {
    resp: sets,
    http: setsRoutes(sets),
    views: setsViews({ sets, nodeId: config.nodeId }),
    rates: setsRates,
    status: () => statusOf(sets),
    stop: () => sets.close(),
  };
}

/** Rejects when the load fails soon; a later failure ends the server. */
async function loadedOrLater({ loaded }: Sets, deps: SliceDeps): Promise<void> {
  const { clock, config, draining, fail } = deps;
  let isStarted = false;
  loaded.catch((thrown: unknown) => {
    if (isStarted && !draining.aborted) fail(located(thrown, config));
  });
  const later = new Promise<void>((resolve) => {
    clock.setTimer(LOAD_WAIT_MS, resolve, { unref: true });
  });
  await Promise.race([loaded, later]);
  isStarted = true;
}

/** Adds the directory: the sets only name the files in it. */
function located(thrown: unknown, config: ServerConfig): SynclineError {
  const error = SynclineError.from(thrown, 'corrupt');
  if (error.code !== 'corrupt' && error.code !== 'conflict') return error;
  const directory = join(config.dataDir, 'sets');
  const message = `cannot load the sets in ${directory}: ${error.message}`;
  return new SynclineError(error.code, message, { details: error.details, cause: error });
}

function conflicting(error: SynclineError, config: ServerConfig): SynclineError {
  const { code, details } = error;
  const message = `cannot continue with the sets in ${join(config.dataDir, 'sets')}: ${error.message}`;
  return new SynclineError(code, message, { details, cause: error });
}

function statusOf(sets: Sets): SliceStatus {
  const { health, reason, connections: _, liveDots, replication, ...details } = sets.status();
  const ownHealth = healthOf(health, reason);
  const { peers: _peers, ...ofPulls } = replication ?? { peers: [] }; // they are in the server's own status
  return {
    health: ownHealth.kind === 'ready' ? withPeers(ownHealth, replication) : ownHealth,
    details: {
      ...details,
      elements: liveDots,
      ...(replication === undefined ? {} : { replication: ofPulls }),
    },
  };
}

/** A node serves from the start, but it is ready only once it has what its peers had, and while it agrees with them. */
function withPeers(health: SliceHealth, replication: ReplicationStatus | undefined): SliceHealth {
  if (replication === undefined) return health;
  const { divergedPeers, isCaughtUp, pullFailure } = replication;
  if (divergedPeers.length > 0) {
    const nodes = `node${divergedPeers.length > 1 ? 's' : ''} ${divergedPeers.join(', ')}`;
    return { kind: 'not-ready', reason: `diverged from ${nodes} at the same version; see the log` };
  }
  if (!isCaughtUp) {
    const why = pullFailure === undefined ? '' : `, which fails: ${pullFailure}`;
    return { kind: 'not-ready', reason: `waiting for the first pull from a peer${why}` };
  }
  return pullFailure === undefined || health.kind !== 'ready'
    ? health
    : { kind: 'ready', reason: `behind its peers, and the last pull failed: ${pullFailure}` };
}

/** With a full disk a node still answers reads, so it stays ready. */
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
