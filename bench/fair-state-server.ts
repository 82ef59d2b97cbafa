// A real server for the fair benches: `syncline serve` in a separate process, with its default embedded store, on
// ports that the system chooses.
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { type ClusterNode, startCluster } from '@syncline/testkit';

export interface StateServer extends AsyncDisposable {
  readonly node: ClusterNode;
  /** The gRPC address: `127.0.0.1:40123`. */
  readonly address: string;
}

export interface StateServerOptions {
  /** Default 0: changes are sent at once. */
  readonly broadcastIntervalMs?: number;
}

export async function startStateServer(options: StateServerOptions = {}): Promise<StateServer> {
  const { broadcastIntervalMs = 0 } = options;
  const env = { SYNCLINE_FAIR_BROADCAST_INTERVAL_MS: String(broadcastIntervalMs) };
  const cluster = await startCluster({ nodes: 1, env });
  const node = cluster.node(1);
  return {
    node,
    address: node.url('grpc'),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** What trackers and transports of the benches run on. */
export const benchDeps = {
  clock: createSystemClock(),
  random: createSystemRandom(),
  logger: silentLogger,
  metrics: silentMetrics,
} as const;
