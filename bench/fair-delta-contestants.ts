// The contestants that receive changes of cells in the fair benches: the state service, our store on Redis, and Redis
// with the command one would use without Syncline. Each is fed by 8 clients, which wait for the answer to one batch
// before they send the next. HINCRBYFLOAT neither clamps nor decays, notifies no one, and counts a resent batch
// twice.
import type { Namespace } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { createRedisFairStore } from '@syncline/fair/redis';
import { startRedis } from '@syncline/testkit';
import type { Contestant } from './bench.js';
import { CLIENTS, type DeltaBatch, deltasOf } from './fair-delta-batches.js';
import { COLUMNS, currentSeed, DeltaStream, LEVELS, WINDOW_MS } from './fair-delta-stream.js';
import { connectRedis, redisVersion } from './fair-redis-peer.js';
import { benchDeps, startStateServer } from './fair-state-server.js';

const NAMESPACE: Namespace = {
  name: 'bench',
  rule: { policy: 'exponential', ratePerSecond: 0.01 },
  shape: { levels: LEVELS, columns: COLUMNS },
  windowMs: WINDOW_MS,
};

export interface DeltaSubject {
  /** Sends a batch of one client, and waits until it is applied. */
  send(client: number, batch: DeltaBatch): Promise<void>;
}

export const stateServiceContestant: Contestant<DeltaSubject> = {
  name: 'state service',
  async open() {
    const server = await startStateServer();
    const remote = grpcRemote({ address: server.address, tracker: 'bench' });
    const streams = Array.from({ length: CLIENTS }, () => new DeltaStream(remote));
    await Promise.all(streams.map((stream) => stream.opened));
    return {
      async send(client, batch) {
        await streams[client]?.send(deltasOf(batch));
      },
      async [Symbol.asyncDispose]() {
        for (const stream of streams) stream.close();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

export const redisStoreContestant: Contestant<DeltaSubject> = {
  name: 'our script on Redis',
  async open() {
    const redis = await startRedis();
    const stores = Array.from({ length: CLIENTS }, () =>
      createRedisFairStore({ url: redis.url, retryBudgetMs: 10_000 }, benchDeps),
    );
    return {
      async send(client, batch) {
        await stores[client]?.applyDelta(NAMESPACE, currentSeed(), deltasOf(batch));
      },
      async [Symbol.asyncDispose]() {
        for (const store of stores) await store.close();
        await redis[Symbol.asyncDispose]();
      },
    };
  },
};

export const incrementContestant: Contestant<DeltaSubject> = {
  name: 'pipelined HINCRBYFLOAT',
  ...(redisVersion !== undefined && { version: redisVersion }),
  async open() {
    const redis = await startRedis();
    const connections = await connectRedis(redis.port, CLIENTS);
    return {
      async send(client, batch) {
        const pipeline = connections[client]?.pipeline();
        for (const { rowId, colId, deltaProb } of batch)
          pipeline?.hincrbyfloat(`v1:{${currentSeed()}}:${rowId}`, `${colId}:prob`, deltaProb);
        await pipeline?.exec();
      },
      async [Symbol.asyncDispose]() {
        for (const connection of connections) connection.disconnect();
        await redis[Symbol.asyncDispose]();
      },
    };
  },
};
