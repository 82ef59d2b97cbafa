// What services agree on in a real Redis, and when they consider it lost.
import { startRedis } from '@syncline/testkit';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import {
  deltasOf,
  linearNamespace,
  listCells,
  sumNamespace,
} from '../conformance/store-samples.js';
import type { Applied, Namespace } from '../state/fair-store.js';
import { WIRE_HASH, WIRE_POLICY } from '../wire/sync-messages.js';
import type { RedisFairStore } from './redis-fair-store.js';
import { RedisRig } from './redis-rig.js';

const WAIT = { timeout: 60_000, interval: 5 };
const namespace: Namespace = { ...linearNamespace, name: 'api' };
const config = {
  levels: 3,
  columns: 50,
  policy: WIRE_POLICY.linear,
  ratePerSecond: 0.005,
  windowMs: 300_000,
  hash: WIRE_HASH.keyed,
  keyCheck: 7n,
  increment: 0.04,
  decrement: 0.00004,
};
const [epochKey, configKey] = ['v1:{api:meta}:epoch', 'v1:{api:meta}:config'] as const;

let rig: RedisRig;

beforeAll(async () => {
  rig = new RedisRig(await startRedis());
});
afterEach(() => rig.reset());
afterAll(() => rig[Symbol.asyncDispose]());

async function openStore() {
  const store = rig.openStore();
  await store.seeds(namespace); // connected
  const received: boolean[] = [];
  store.shared.onReachable((isReachable) => received.push(isReachable));
  return { store, received };
}

const change = async (store: RedisFairStore, column: number) =>
  await store.applyDelta(sumNamespace, 42n, deltasOf({ row: 1, column, amount: 0.25 }));

const cellsOf = ({ cells }: Applied) => listCells(cells).map(({ column }) => column);

test('a refused hello keeps nothing alive', async () => {
  const { store } = await openStore();
  await store.shared.greet(namespace, config);
  for (const key of [epochKey, configKey]) await rig.admin.pexpire(key, 5_000);
  const refused = store.shared.greet(namespace, { ...config, columns: 60 });
  await expect(refused).rejects.toMatchObject({ code: 'conflict', details: { field: 'columns' } });
  for (const key of [epochKey, configKey]) expect(await rig.admin.pttl(key)).toBeLessThan(5_001);
  await store.shared.greet(namespace, { ...config, increment: 0.5 });
  for (const key of [epochKey, configKey])
    expect(await rig.admin.pttl(key)).toBeGreaterThan(840_000);
});

test('a configuration in a different notation is the same', async () => {
  const { store } = await openStore();
  const { epoch } = await store.shared.greet(namespace, config);
  const written: unknown = JSON.parse((await rig.admin.get(configKey)) ?? '');
  await rig.admin.set(configKey, JSON.stringify({ ...Object(written), newer: 1 }));
  expect(await store.shared.greet(namespace, config)).toEqual({ epoch });
});

test('an epoch and configuration written by others are overwritten', async () => {
  const { store } = await openStore();
  await rig.admin.mset(epochKey, 'banana', configKey, '{{{');
  const { epoch } = await store.shared.greet(namespace, config);
  expect(epoch).toBeGreaterThan(0);
  expect(await rig.admin.get(epochKey)).toBe(String(epoch));
  const other = store.shared.greet(namespace, { ...config, levels: 2 });
  await expect(other).rejects.toMatchObject({ details: { field: 'levels' } });
});

test('a hello that finds another epoch reports that everything was lost, whichever comes first', async () => {
  const { store, received } = await openStore();
  await store.shared.greet(namespace, config);
  await rig.admin.flushall();
  const { epoch } = await store.shared.greet(namespace, config);
  expect(received).toEqual([false, true]);
  expect(await store.shared.greet(namespace, config)).toEqual({ epoch });
  await store.shared.keepAlive(namespace, ['one']);
  expect(received).toEqual([false, true]);
});

test('F60 a default seed that expired and started over is delivered whole, and nothing else is lost', async () => {
  const [{ store, received }, other] = [await openStore(), await openStore()];
  const changes: Applied[] = [];
  store.watch(sumNamespace, (applied) => changes.push(applied));
  await change(store, 1);
  await vi.waitFor(async () => expect(await rig.admin.pubsub('NUMPAT')).toBe(1), WAIT);
  for (const key of await rig.admin.keys('v1:{42}:*')) await rig.admin.del(key); // as Redis does in time
  await change(other.store, 2);
  await vi.waitFor(() => expect(changes.some(({ startsOver }) => startsOver)).toBe(true), WAIT);
  expect(changes.filter(({ startsOver }) => startsOver).map(cellsOf)).toEqual([[2]]);
  expect(received).toEqual([]);
});

test('FLUSHALL loses the default tracker too, once', async () => {
  const { store, received } = await openStore();
  store.watch(sumNamespace, () => {});
  await change(store, 1);
  await rig.admin.flushall();
  await change(store, 1);
  await vi.waitFor(() => expect(received).toEqual([false, true]), WAIT);
});
