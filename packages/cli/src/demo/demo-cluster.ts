// Three nodes on this machine whose links can be cut.
//
// Every node connects to every other through a small proxy of its own, so that a partition is real: connections
// break, and new ones are refused until the link is restored.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { assert } from '@syncline/kernel';
import type { ListenerName } from '@syncline/server';
import type { CliWorld } from '../cli-world.js';
import { LocalCluster } from '../dev/local-cluster.js';
import { NodeProcess } from '../dev/node-process.js';

const HOST = '127.0.0.1';
const NODES = [1, 2, 3] as const;

/** Settings for the user's own servers must not affect the demo. */
const FOREIGN_SETTING = /^SYNCLINE_/;

export class DemoCluster {
  readonly #cluster: LocalCluster;
  readonly #links: readonly MeshLink[];

  private constructor(cluster: LocalCluster, links: readonly MeshLink[]) {
    this.#cluster = cluster;
    this.#links = links;
  }

  /** Resolves when the processes are started, not when they are up: see `started`. */
  static async open(world: CliWorld, directory: string): Promise<DemoCluster> {
    let nodes: readonly NodeProcess[] = [];
    // Nodes announce the ports they have chosen. Until then, connections fail and are retried.
    const meshPortOf = (nodeId: number) =>
      nodes[nodeId - 1]?.listeners.find(({ listener }) => listener === 'mesh')?.port;
    const links = await Promise.all(
      NODES.flatMap((from) =>
        NODES.filter((to) => to !== from).map((to) =>
          MeshLink.open({ from, to, portOf: () => meshPortOf(to) }),
        ),
      ),
    );
    const environment = Object.fromEntries(
      Object.entries(world.environment).filter(([name]) => !FOREIGN_SETTING.test(name)),
    );
    nodes = NODES.map(
      (nodeId) =>
        new NodeProcess(
          { environment, onLine: () => {} },
          { nodeId, args: argsOf(nodeId, directory, links) },
        ),
    );
    return new DemoCluster(new LocalCluster(nodes), links);
  }

  get nodes(): readonly NodeProcess[] {
    return this.#cluster.nodes;
  }

  started(): Promise<void> {
    return this.#cluster.started();
  }

  url(nodeId: number, path: string): string {
    return `http://${this.address(nodeId, 'http')}${path}`;
  }

  address(nodeId: number, listener: ListenerName): string {
    const { host, port } = this.listening(nodeId, listener);
    return `${host}:${port}`;
  }

  listening(
    nodeId: number,
    listener: ListenerName,
  ): { readonly host: string; readonly port: number } {
    const found = this.nodes[nodeId - 1]?.listeners.find((known) => known.listener === listener);
    assert(found !== undefined, `node ${nodeId} listens for ${listener}`);
    return found;
  }

  /** Cuts a node off from the others, in both directions. */
  cutOff(nodeId: number): void {
    for (const link of this.#links) if (link.touches(nodeId)) link.cut();
  }

  restoreLinks(): void {
    for (const link of this.#links) link.restore();
  }

  async close(graceMs: number): Promise<void> {
    await this.#cluster.stop(graceMs);
    for (const link of this.#links) link.close();
  }

  kill(): void {
    this.#cluster.kill();
  }
}

function argsOf(nodeId: number, directory: string, links: readonly MeshLink[]): readonly string[] {
  const peers = links.filter(({ from }) => from === nodeId);
  return [
    'serve',
    ...['--node-id', String(nodeId), '--listen-host', HOST, '--log-level', 'error'],
    ...['--data-dir', join(directory, `node-${nodeId}`)],
    ...['--http-port', '0', '--grpc-port', '0', '--resp-port', '0', '--mesh-port', '0'],
    ...peers.flatMap(({ to, port }) => ['--peer', `${to}@${HOST}:${port}`]),
  ];
}

/** The proxy through which one node connects to another. */
class MeshLink {
  readonly from: number;
  readonly to: number;
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(server: Server, { from, to, portOf }: MeshLinkOptions) {
    this.from = from;
    this.to = to;
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
    server.on('connection', (near) => this.#join(near, portOf()));
  }

  static async open(options: MeshLinkOptions): Promise<MeshLink> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: HOST, port: 0 }, resolve);
    });
    return new MeshLink(server, options);
  }

  touches(nodeId: number): boolean {
    return this.from === nodeId || this.to === nodeId;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  restore(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(near: Socket, port: number | undefined): void {
    if (this.#isCut || port === undefined) return void near.destroy();
    const far = connect({ host: HOST, port });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.pipe(other);
      socket.on('error', () => undefined); // its `close` follows
      socket.once('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}

interface MeshLinkOptions {
  readonly from: number;
  readonly to: number;
  /** Where `to` listens; undefined until it does. */
  readonly portOf: () => number | undefined;
}
