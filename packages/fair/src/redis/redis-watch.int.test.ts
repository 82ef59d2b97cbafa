// Watchers of a namespace that come and go, on a real Redis.
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { expect, test, vi } from 'vitest';
import { deltasOf, linearNamespace, listCells, SEED } from '../conformance/store-samples.js';
import { createRedisFairStore } from './redis-fair-store.js';

const WAIT = { timeout: 60_000, interval: 5 };
const deps = {
  clock: createSystemClock(),
  random: createSystemRandom(),
  logger: silentLogger,
  metrics: silentMetrics,
};

test('closing a watcher twice does not affect the next one', async () => {
  await using redis = await startRedis();
  const store = createRedisFairStore({ url: redis.url }, deps);
  const other = createRedisFairStore({ url: redis.url }, deps);
  const received: bigint[] = [];
  const older = store.watch(linearNamespace, () => {});
  await vi.waitFor(() => store.getSeed(linearNamespace, SEED), WAIT); // connected
  older.close();
  store.watch(linearNamespace, ({ seed }) => received.push(seed));
  older.close();
  const change = deltasOf({ row: 1, column: 7, amount: 0.5 });
  await vi.waitFor(async () => {
    await other.applyDelta(linearNamespace, SEED, change);
    expect(received).toContain(SEED);
  }, WAIT);
  expect(() => store.watch(linearNamespace, () => {})).toThrow('one watcher');
  await store.close();
  await other.close();
});

test('cells outside the structure, written by others, are neither read nor delivered', async () => {
  await using redis = await startRedis();
  const admin = new Redis(redis.url);
  const store = createRedisFairStore({ url: redis.url }, deps);
  const other = createRedisFairStore({ url: redis.url }, deps);
  const received: number[] = [];
  store.watch(linearNamespace, ({ cells }) => {
    for (const { row } of listCells(cells)) received.push(row);
  });
  const apply = (row: number) =>
    other.applyDelta(linearNamespace, SEED, deltasOf({ row, column: 7, amount: 0.5 }));
  await vi.waitFor(() => apply(80_000_000), WAIT);
  await apply(1);
  await admin.hset(`v1:{${linearNamespace.name}:${SEED}}:1`, '50:prob', '0.5', 'x:prob', '0.5');
  await vi.waitFor(() => expect(received).toContain(1), WAIT);
  expect(new Set(received)).toEqual(new Set([1]));
  const cells = listCells(await store.getSeed(linearNamespace, SEED));
  expect(cells.map(({ row, column }) => [row, column])).toEqual([[1, 7]]);
  admin.disconnect();
  await store.close();
  await other.close();
});

test('where Redis does not allow subscriptions, changes by others arrive by polling', async () => {
  await using redis = await startRedis();
  const admin = new Redis(redis.url);
  await admin.call('ACL', 'SETUSER', 'deaf', 'on', '>secret', '~*', '&*', '+@all', '-psubscribe');
  const url = `redis://deaf:secret@127.0.0.1:${redis.port}`;
  const store = createRedisFairStore({ url, pollIntervalMs: 20 }, deps);
  const other = createRedisFairStore({ url: redis.url }, deps);
  const received: number[] = [];
  store.watch(linearNamespace, ({ cells }) => {
    for (const { row } of listCells(cells)) received.push(row);
  });
  for (const row of [1, 2]) {
    const change = deltasOf({ row, column: 7, amount: 0.5 });
    await vi.waitFor(() => other.applyDelta(linearNamespace, SEED, change), WAIT);
    await vi.waitFor(() => expect(received).toContain(row), WAIT);
  }
  admin.disconnect();
  await store.close();
  await other.close();
});
