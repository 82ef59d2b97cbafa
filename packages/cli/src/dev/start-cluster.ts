// Starts the nodes of a local cluster and shows their output, prefixed with the node number.
import { findFreePorts } from '@syncline/kernel/node';
import { formatLogLine, type ServerSettings } from '@syncline/server/config';
import { type CliWorld, say } from '../cli-world.js';
import { type Color, paintFor } from '../paint.js';
import { planNodes } from './dev-plan.js';
import { LocalCluster } from './local-cluster.js';
import { NodeProcess } from './node-process.js';

const NODE_COLORS: readonly Color[] = ['cyan', 'magenta', 'yellow', 'green', 'blue', 'red'];

export interface ClusterOptions {
  readonly nodesCount: number;
  readonly directory: string;
}

export async function startCluster(
  world: CliWorld,
  { http, grpc, resp, mesh, log }: ServerSettings,
  options: ClusterOptions,
): Promise<LocalCluster> {
  const paint = paintFor(world.stderr, world.environment);
  const ports = { http: http.port, grpc: grpc.port, resp: resp.port, mesh: mesh.port };
  const meshPorts = mesh.port === 0 ? await findFreePorts(options.nodesCount) : [];
  const nodes = planNodes({ ...options, ports, meshPorts, logLevel: log.level }).map((node) => {
    const color = NODE_COLORS[(node.nodeId - 1) % NODE_COLORS.length] ?? 'cyan';
    const prefix = paint(color, `${node.nodeId} |`);
    // The prefix says which node it is.
    const known = new RegExp(` node=${node.nodeId}(?= |$)`);
    const onLine = (line: string) =>
      say(world, `${prefix} ${formatLogLine(line).trimEnd().replace(known, '')}`);
    return new NodeProcess({ environment: world.environment, onLine }, node);
  });
  return new LocalCluster(nodes);
}
