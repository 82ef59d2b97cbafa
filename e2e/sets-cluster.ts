// Three real nodes, each pair connected through proxies that can cut, delay and slow down the link.
import { type ClusterNode, type FaultProxy, startFaultProxy } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { startCluster } from './cluster.js';

export interface MeshedCluster extends AsyncDisposable {
  readonly nodes: readonly ClusterNode[];
  readonly proxies: readonly FaultProxy[];
  /** Both directions between two nodes. */
  linkOf(one: number, other: number): readonly FaultProxy[];
  logs(): string;
}

export interface MeshedClusterOptions {
  readonly nodes: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

export async function startMeshedCluster(options: MeshedClusterOptions): Promise<MeshedCluster> {
  const links = new Map<string, FaultProxy>();
  const proxy = (from: number, to: number) => {
    const found = links.get(`${from}-${to}`);
    if (found === undefined) throw new Error(`no link from ${from} to ${to}`);
    return found;
  };
  const cluster = await startCluster({
    nodes: options.nodes,
    readyTimeoutMs: 60_000,
    isMeshed: async (from, to, port) => {
      const target = { host: '127.0.0.1', port };
      const link = await startFaultProxy({ seed: from * 16 + to, target });
      links.set(`${from}-${to}`, link);
      return link.address.port;
    },
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.args === undefined ? {} : { args: options.args }),
  });
  return {
    nodes: cluster.nodes,
    proxies: [...links.values()],
    linkOf: (one, other) => [proxy(one, other), proxy(other, one)],
    logs: () => cluster.logs(),
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      for (const link of links.values()) await link[Symbol.asyncDispose]();
    },
  };
}

/** Version, number of live dots and checksum: equal digests mean equal nodes. */
export async function digestOf(node: ClusterNode): Promise<string> {
  const redis = new Redis(node.address('resp').port, { lazyConnect: true, retryStrategy: null });
  try {
    await redis.connect();
    return String(await redis.call('SYNCLINE.DIGEST'));
  } finally {
    redis.disconnect();
  }
}
