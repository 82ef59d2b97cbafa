// Sets as a slice of the server: RESP sessions, the data directory, an HTTP route and the views.
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

/** How long the start waits for the data. After that, clients get `-LOADING` and /readyz shows the progress. */
const LOAD_WAIT_MS = 1_000;

async function start(deps: SliceDeps): Promise<RunningSlice> {
  try {
    return await open(deps);
  } catch (thrown) {
    throw withDirectory(thrown, deps.config);
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
  await waitForLoad(sets, deps);
  return {
    resp: sets,
    http: setsRoutes(sets),
    views: setsViews({ sets, nodeId: config.nodeId }),
    rates: setsRates,
    status: () => statusOf(sets),
    stop: () => sets.close(),
  };
}

/** Waits for LOAD_WAIT_MS and rejects if loading fails within that time. A later failure stops the server. */
async function waitForLoad({ loaded }: Sets, deps: SliceDeps): Promise<void> {
  const { clock, config, draining, fail } = deps;
  let isStarted = false;
  loaded.catch((thrown: unknown) => {
    if (isStarted && !draining.aborted) fail(withDirectory(thrown, config));
  });
  const later = new Promise<void>((resolve) => {
    clock.setTimer(LOAD_WAIT_MS, resolve, { unref: true });
  });
  await Promise.race([loaded, later]);
  isStarted = true;
}

/** Adds the directory to the message, which only has file names. */
function withDirectory(thrown: unknown, config: ServerConfig): SynclineError {
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

/** A node serves clients immediately, but is ready only once it has caught up with a peer, and only if none diverged. */
function withPeers(health: SliceHealth, replication: ReplicationStatus | undefined): SliceHealth {
  if (replication === undefined) return health;
  const { divergedPeers, isCaughtUp, pullFailure } = replication;
  if (divergedPeers.length > 0) {
    const nodes = `node${divergedPeers.length > 1 ? 's' : ''} ${divergedPeers.join(', ')}`;
    return { kind: 'not-ready', reason: `diverged from ${nodes} at the same version; see the log` };
  }
  if (!isCaughtUp) {
    const why = pullFailure === undefined ? '' : `; the last attempt failed: ${pullFailure}`;
    return { kind: 'not-ready', reason: `waiting for the first pull from a peer${why}` };
  }
  return pullFailure === undefined || health.kind !== 'ready'
    ? health
    : { kind: 'ready', reason: `behind its peers; the last pull failed: ${pullFailure}` };
}

/** With a full disk a node still serves reads, so it stays ready. */
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
