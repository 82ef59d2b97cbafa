// What the parts of a server share. Creating it opens nothing.
import { setMaxListeners } from 'node:events';
import { createRequire } from 'node:module';
import {
  type Clock,
  kernelLimits,
  type Logger,
  type Network,
  type Random,
  type SynclineError,
} from '@syncline/kernel';
import { createTcpNetwork, createTlsNetwork, type TcpNetworkOptions } from '@syncline/kernel/node';
import {
  createMesh,
  type Mesh,
  type MeshDeps,
  meshLimits,
  meshMetrics,
  type SnappyCodec,
} from '@syncline/mesh';
import { protocolLimits } from '@syncline/protocol';
import { createTokenCheck, type TokenCheck } from './auth/bearer-token.js';
import { GuessBudget } from './auth/guess-budget.js';
import type { ServerConfig } from './config/server-config.js';
import { LimitWatch } from './limit-watch.js';
import { serverLimits } from './limits.js';
import type { ListeningAddress } from './listener.js';
import { PromMetrics } from './metrics/prom-metrics.js';
import { serverMetrics } from './metrics-list.js';
import { Readiness } from './readiness.js';
import type { ServerIdentity } from './server-status.js';
import type { Slice } from './slice.js';
import { UnsentWatch } from './unsent-watch.js';
import { readVersion } from './version.js';

export interface ServerContext {
  readonly config: ServerConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: PromMetrics;
  readonly limits: LimitWatch;
  readonly unsent: UnsentWatch;
  readonly readiness: Readiness;
  readonly isTokenValid: TokenCheck;
  readonly isMetricsTokenValid: TokenCheck | undefined;
  readonly guesses: GuessBudget;
  /** Aborted when a stop begins. */
  readonly drain: AbortController;
  readonly draining: AbortSignal;
  /** Aborted when the slices have stopped. */
  readonly end: AbortController;
  readonly identity: ServerIdentity;
  readonly startedMonotonicMs: number;
  /** The open listeners, in the order in which they were opened. */
  readonly listeners: ListeningAddress[];
  readonly createNetwork: CreateNetwork;
  /** Undefined without peers. */
  readonly mesh: Mesh | undefined;
  readonly fail: (error: SynclineError) => void;
  /** Resolves with the error of the first slice that fails. */
  readonly failed: Promise<SynclineError>;
}

/** TCP, or TLS with this node's certificate. */
export type CreateNetwork = (
  options: Pick<TcpNetworkOptions, 'connectionsMax' | 'onRefused'>,
) => Network;

export interface ServerContextDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export function createServerContext(
  deps: ServerContextDeps,
  config: ServerConfig,
  slices: readonly Slice[],
): ServerContext {
  const logger = deps.logger.child({ node: config.nodeId });
  const metrics = new PromMetrics([
    serverMetrics,
    meshMetrics,
    ...slices.map((slice) => slice.metrics),
  ]);
  const limits = new LimitWatch({ ...deps, logger, metrics });
  const drain = new AbortController();
  setMaxListeners(0, drain.signal); // every event stream adds a listener, which Node would report as a leak
  let fail: ServerContext['fail'] = () => {};
  const failed = new Promise<SynclineError>((resolve) => {
    fail = resolve;
  });
  const version = readVersion();
  metrics.set('syncline_build_info', 1, { version, node_version: process.version });
  limits.declare('kernel', kernelLimits);
  limits.declare('protocol', protocolLimits);
  limits.declare('server', serverLimits);
  limits.declare('mesh', meshLimits);
  for (const slice of slices) limits.declare(slice.name, slice.limits);
  const createNetwork = networkFactory(config);
  return {
    ...deps,
    config,
    logger,
    metrics,
    limits,
    unsent: new UnsentWatch({ ...deps, limits }),
    drain,
    end: new AbortController(),
    draining: drain.signal,
    readiness: new Readiness({ ...deps, logger, metrics, draining: drain.signal }),
    isTokenValid: createTokenCheck(config.credentials.token),
    isMetricsTokenValid:
      config.credentials.metricsToken && createTokenCheck(config.credentials.metricsToken),
    guesses: new GuessBudget({ ...deps, logger, limits }),
    identity: {
      nodeId: config.nodeId,
      clusterId: config.mesh.clusterId,
      version,
      dataDir: config.memory ? undefined : config.dataDir,
      startedAtMs: deps.clock.nowMs(),
    },
    startedMonotonicMs: deps.clock.monotonicMs(),
    listeners: [],
    createNetwork,
    mesh: openMesh({ ...deps, logger, metrics, network: createNetwork({}) }, config),
    fail,
    failed,
  };
}

function openMesh(
  deps: Omit<MeshDeps, 'snappy'>,
  { nodeId, credentials, mesh }: ServerConfig,
): Mesh | undefined {
  if (mesh.peers.length === 0) return undefined;
  const { meshSecret, tls } = credentials;
  const snappy = mesh.compression ? loadSnappy(deps.logger) : undefined;
  return createMesh(
    { ...deps, ...(snappy === undefined ? {} : { snappy }) },
    {
      ...mesh,
      nodeId,
      secret: meshSecret?.reveal() ?? '',
      usesCertificates: meshSecret === undefined && tls?.ca !== undefined,
    },
  );
}

/** An optional dependency: without it, frames are not compressed. */
function loadSnappy(logger: Logger): SnappyCodec | undefined {
  try {
    return createRequire(import.meta.url)('snappy') as SnappyCodec;
  } catch {
    const warning = 'mesh.compression has no effect: the package "snappy" is not installed.';
    logger.warn('configuration warning', { warning });
    return undefined;
  }
}

function networkFactory({ credentials: { tls } }: ServerConfig): CreateNetwork {
  if (tls === undefined) return (options) => createTcpNetwork(options);
  const { cert, key, ca } = tls;
  return (options) =>
    createTlsNetwork({ ...options, cert, key, ...(ca === undefined ? {} : { ca }) });
}
