// The servers of the sets benches: `syncline serve` in a separate process, and a redis-server that appends to its
// file and syncs it each second, as `buffered` does.
import { startCluster, startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import type { Contestant } from './bench.js';
import { redisVersion } from './fair-redis-peer.js';
import { residentBytesOf } from './process-memory.js';

export interface SetsServer {
  readonly port: number;
  /** Stops it cleanly, or kills it, and restarts it on the same data. Resolves when it responds. */
  restart(how: 'stop' | 'kill'): Promise<void>;
  /** Memory of its process. */
  residentBytes(): Promise<number>;
}

/** Our server only: it also reports where its data is, and can stay stopped. */
export interface SynclineServer extends SetsServer {
  readonly dataDir: string;
  stop(): Promise<void>;
}

export async function startSyncline(): Promise<SynclineServer & AsyncDisposable> {
  const env = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' }; // as in deploy/
  const cluster = await startCluster({ nodes: 1, env, readyTimeoutMs: 60_000 });
  const node = cluster.node(1);
  return {
    port: node.address('resp').port,
    dataDir: node.dataDir,
    async restart(how) {
      if (how === 'kill') await node.kill();
      await node.restart();
    },
    stop: () => node.stop(60_000),
    residentBytes: () => residentBytesOf(node.pid),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

export const synclineContestant: Contestant<SetsServer> = {
  name: 'syncline serve',
  open: startSyncline,
};

export const redisContestant: Contestant<SetsServer> = {
  name: 'redis-server',
  ...(redisVersion !== undefined && { version: redisVersion }),
  async open() {
    const redis = await startRedis('--appendonly', 'yes', '--appendfsync', 'everysec');
    return {
      port: redis.port,
      async restart() {
        await redis.kill(); // what it has written to its file stays
        await redis.start();
        await untilLoaded(redis.port);
      },
      residentBytes: async () => residentBytesOf(await processOf(redis.port)),
      [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
    };
  },
};

async function processOf(port: number): Promise<number> {
  return Number(
    /process_id:(\d+)/.exec(await withClient(port, (client) => client.info('server')))?.[1],
  );
}

/** ioredis is ready once the server has loaded its data. */
async function untilLoaded(port: number): Promise<void> {
  await withClient(port, (client) => client.ping());
}

export async function withClient<Result>(
  port: number,
  use: (client: Redis) => Promise<Result>,
): Promise<Result> {
  const client = new Redis(port, '127.0.0.1', { protocol: 2 });
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}
