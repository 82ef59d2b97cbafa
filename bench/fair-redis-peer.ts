// Redis as a peer: a redis-server of our own, and plain connections to it.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';

/** `7.0.15`; undefined without a redis-server. */
export const redisVersion: string | undefined = /v=(\S+)/.exec(
  spawnSync('redis-server', ['--version'], { encoding: 'utf8' }).stdout ?? '',
)?.[1];

export async function connectRedis(port: number, count: number): Promise<readonly Redis[]> {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const redis = new Redis(port, '127.0.0.1', { protocol: 2 });
      await once(redis, 'ready');
      return redis;
    }),
  );
}
