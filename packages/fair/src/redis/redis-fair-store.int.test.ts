import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { type RedisServer, startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { fairStoreSuite } from '../conformance/fair-store-suite.js';
import { allNamespaces, type FairStoreSubject } from '../conformance/store-samples.js';
import { createRedisFairStore } from './redis-fair-store.js';

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis[Symbol.asyncDispose]());

const deps = {
  clock: createSystemClock(),
  random: createSystemRandom(),
  logger: silentLogger,
  metrics: silentMetrics,
};

async function createSubject(isWatched: boolean): Promise<FairStoreSubject & AsyncDisposable> {
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
  let nowMs = 1_700_000_000_000;
  const store = createRedisFairStore({ url: redis.url }, { ...deps, scriptNowMs: () => nowMs });
  if (isWatched) for (const namespace of allNamespaces) store.watch(namespace, () => {});
  return {
    store,
    advanceMs(elapsedMs) {
      nowMs += elapsedMs;
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

describe('a store in Redis without a watcher', () => {
  for (const { name, run } of fairStoreSuite(() => createSubject(false))) test(name, run);
});

describe('a store in Redis with a watcher', () => {
  const inMany = 'F13 a message of the largest size is applied whole, once'; // reported to the watcher
  for (const { name, run } of fairStoreSuite(() => createSubject(true)))
    if (name !== inMany) test(name, run);
});
