// Plans the nodes of a local cluster. Each has its own directory and adds 10 to every port of the previous node. A
// port of 0 stays 0, so that the system chooses one, except for mesh ports, which peers have to know in advance.
import { join } from 'node:path';
import { SynclineError } from '@syncline/kernel';

export const LISTENERS = ['http', 'grpc', 'resp', 'mesh'] as const;

export type DevPorts = Readonly<Record<(typeof LISTENERS)[number], number>>;

/** As in the settings. */
export type DevSettings = Readonly<Record<(typeof LISTENERS)[number], { readonly port: number }>>;

export interface DevNode {
  readonly nodeId: number;
  /** Arguments of the command line that runs it. */
  readonly args: readonly string[];
}

export interface DevPlanOptions {
  readonly nodesCount: number;
  /** The ports of node 1. */
  readonly ports: DevPorts;
  /** The mesh ports of all nodes, if `ports.mesh` is 0. */
  readonly meshPorts?: readonly number[];
  readonly directory: string;
  readonly logLevel: string;
}

const PORT_STEP = 10;
const PORT_MAX = 65_535;
export const DEV_HOST = '127.0.0.1';

/** Checked before any node is started. */
export function checkPorts(ports: DevSettings, nodesCount: number): void {
  const highest = PORT_MAX - PORT_STEP * (nodesCount - 1);
  for (const name of LISTENERS) {
    const { port } = ports[name];
    if (port <= highest) continue;
    throw new SynclineError(
      'invalid-argument',
      `${name}.port is ${port}; with ${nodesCount} nodes, ${PORT_STEP} ports apart, it can be at most ${highest}.`,
      { details: { field: `${name}.port`, value: port } },
    );
  }
}

/** `first` is the port of node 1; if the system chooses it, it is 0. */
export function portOf(first: number, nodeId: number): number {
  return first === 0 ? 0 : first + PORT_STEP * (nodeId - 1);
}

export function planNodes(options: DevPlanOptions): readonly DevNode[] {
  const { nodesCount, ports, meshPorts = [], directory, logLevel } = options;
  const ids = Array.from({ length: nodesCount }, (_, index) => index + 1);
  const chosen = (name: keyof DevPorts, nodeId: number): number =>
    (name === 'mesh' ? meshPorts[nodeId - 1] : undefined) ?? portOf(ports[name], nodeId);
  const peers = ids.map((id) => `${id}@${DEV_HOST}:${chosen('mesh', id)}`);
  return ids.map((nodeId) => ({
    nodeId,
    args: [
      'serve',
      ...['--node-id', String(nodeId)],
      ...['--listen-host', DEV_HOST],
      ...['--data-dir', join(directory, `node-${nodeId}`)],
      ...['--log-level', logLevel],
      ...LISTENERS.flatMap((name) => [`--${name}-port`, String(chosen(name, nodeId))]),
      ...peers.flatMap((peer) => ['--peer', peer]),
    ],
  }));
}
