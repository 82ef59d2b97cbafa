// Watchers of a namespace that come and go over a real Redis.
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { startRedis } from '@syncline/testkit';
import { expect, test, vi } from 'vitest';
import { deltasOf, linearNamespace, SEED } from '../conformance/store-samples.js';
import { createRedisFairStore } from './redis-fair-store.js';

const WAIT = { timeout: 10_000, interval: 5 };
const deps = {
  clock: createSystemClock(),
  random: createSystemRandom(),
  logger: silentLogger,
  metrics: silentMetrics,
};

test('a watcher that is closed twice leaves the next one alone', async () => {
  await using redis = await startRedis();
  const store = createRedisFairStore({ url: redis.url }, deps);
  const other = createRedisFairStore({ url: redis.url }, deps);
  const heard: bigint[] = [];
  const older = store.watch(linearNamespace, () => {});
  await vi.waitFor(() => store.getSeed(linearNamespace, SEED), WAIT); // connected
  older.close();
  store.watch(linearNamespace, ({ seed }) => heard.push(seed));
  older.close();
  const change = deltasOf({ row: 1, column: 7, amount: 0.5 });
  await vi.waitFor(async () => {
    await other.applyDelta(linearNamespace, SEED, change);
    expect(heard).toContain(SEED);
  }, WAIT);
  expect(() => store.watch(linearNamespace, () => {})).toThrow('one watcher');
  await store.close();
  await other.close();
});
