// Starts a cluster of real Syncline processes on one machine, and cleans up whatever happens.
//
//   await using cluster = await startCluster({ nodes: 3 });
//   await fetch(`${cluster.node(1).url('http')}/api/status`);
//   await cluster.node(2).kill();
//   await cluster.node(2).restart();
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreePorts } from '@syncline/kernel/node';
import { makeTempDirectory, type TempDirectory } from '../temp-directory.js';
import { ClusterNode, type NodePorts } from './cluster-node.js';
import { LISTENER_NAMES } from './listener-line.js';

export interface ClusterOptions {
  /** Their ids are 1 to `nodes`. */
  readonly nodes: number;
  /**
   * Each node has all others as its peers. Default: they are separate. A function returns the port at which one
   * node reaches another, such as that of a proxy.
   */
  readonly isMeshed?: boolean | ((from: number, to: number, port: number) => Promise<number>);
  /** Further arguments of `serve`, the same for all or by node id. */
  readonly args?: readonly string[] | ((nodeId: number) => readonly string[]);
  readonly env?: Readonly<Record<string, string>>;
  /** How long a node may take to start without any progress. Default 60 s. */
  readonly readyTimeoutMs?: number;
  /** A program to run instead of the command line, with the same flags and output. */
  readonly program?: string;
}

export interface Cluster extends AsyncDisposable {
  readonly nodes: readonly ClusterNode[];
  /** Throws when there is no node with that id. */
  node(id: number): ClusterNode;
  /** The last output of all nodes: `onTestFailed(() => console.error(cluster.logs()))`. */
  logs(): string;
}

/** From src/ and from dist/ alike. */
const COMMAND_LINE = fileURLToPath(new URL('../../../cli/bin/syncline.js', import.meta.url));

/** Resolves when all nodes are ready. If one fails, none is left and the error holds its last output. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const directory = await makeTempDirectory('cluster');
  const found = await findFreePorts(options.nodes * LISTENER_NAMES.length);
  const ports = Array.from({ length: options.nodes }, (_, index) => {
    const [http = 0, grpc = 0, resp = 0, mesh = 0] = found.slice(index * LISTENER_NAMES.length);
    return { http, grpc, resp, mesh };
  });
  const nodes = await Promise.all(
    ports.map((_, index) => createNode(index + 1, directory, ports, options)),
  );
  const cluster: Cluster = {
    nodes,
    node(id) {
      const node = nodes[id - 1];
      if (!node) throw new Error(`the cluster has nodes 1 to ${nodes.length}, not ${id}`);
      return node;
    },
    logs: () => nodes.map((node) => node.tail()).join('\n'),
    [Symbol.asyncDispose]: () => dispose(nodes, directory),
  };
  const starts = await Promise.allSettled(nodes.map((node) => node.start()));
  const failure = starts.find((start) => start.status === 'rejected');
  if (!failure) return cluster;
  await dispose(nodes, directory).catch(() => {}); // the first failure is more informative
  throw failure.reason;
}

async function createNode(
  id: number,
  directory: TempDirectory,
  ports: readonly NodePorts[],
  options: ClusterOptions,
): Promise<ClusterNode> {
  const { args = [], env = {}, readyTimeoutMs = 60_000, program = COMMAND_LINE } = options;
  const { isMeshed = false } = options;
  const [own, peers]: [NodePorts | undefined, string[]] = [ports[id - 1], []];
  if (own === undefined) throw new Error(`node ${id} has no ports`);
  for (const [index, { mesh }] of ports.entries()) {
    const peer = index + 1;
    if (isMeshed === false || peer === id) continue;
    const reached = typeof isMeshed === 'function' ? await isMeshed(id, peer, mesh) : mesh;
    peers.push('--peer', `${peer}@127.0.0.1:${reached}`);
  }
  return new ClusterNode({
    id,
    program,
    directory: directory.path,
    dataDir: join(directory.path, `node-${id}`),
    ports: own,
    args: [...peers, ...(typeof args === 'function' ? args(id) : args)],
    env,
    readyTimeoutMs,
  });
}

/** Every node and the directory are removed, even if one of them fails. */
async function dispose(nodes: readonly ClusterNode[], directory: TempDirectory): Promise<void> {
  const ends = await Promise.allSettled(nodes.map((node) => node.dispose()));
  await directory[Symbol.asyncDispose]();
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure) throw failure.reason;
}
