// The nodes of a local cluster: each adds 10 to every port of the one before it and has its own
// directory. A port of 0 stays 0, and the system chooses.
import { join } from 'node:path';

export type DevPorts = Readonly<Record<'http' | 'grpc' | 'resp' | 'mesh', number>>;

export interface DevNode {
  readonly nodeId: number;
  /** Arguments of the command line that runs it. */
  readonly args: readonly string[];
}

export interface DevPlanOptions {
  readonly nodesCount: number;
  /** Those of node 1. */
  readonly ports: DevPorts;
  readonly directory: string;
  readonly logLevel: string;
}

const PORT_STEP = 10;
const HOST = '127.0.0.1';

export function planNodes(options: DevPlanOptions): readonly DevNode[] {
  const { nodesCount, ports, directory, logLevel } = options;
  const ids = Array.from({ length: nodesCount }, (_, index) => index + 1);
  const portOf = (name: keyof DevPorts, nodeId: number): number =>
    ports[name] === 0 ? 0 : ports[name] + PORT_STEP * (nodeId - 1);
  // Without fixed ports nobody can be told where its peers will be.
  const peers = ports.mesh === 0 ? [] : ids.map((id) => `${id}@${HOST}:${portOf('mesh', id)}`);
  return ids.map((nodeId) => ({
    nodeId,
    args: [
      'serve',
      ...['--node-id', String(nodeId)],
      ...['--listen-host', HOST],
      ...['--data-dir', join(directory, `node-${nodeId}`)],
      ...['--log-level', logLevel],
      ...(['http', 'grpc', 'resp', 'mesh'] as const).flatMap((name) => [
        `--${name}-port`,
        String(portOf(name, nodeId)),
      ]),
      ...peers.flatMap((peer) => ['--peer', peer]),
    ],
  }));
}
