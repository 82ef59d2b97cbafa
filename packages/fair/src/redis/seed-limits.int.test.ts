// Limits on a real Redis with concurrent writers, and the effect of other programs writing to our keys.
import { silentLogger } from '@syncline/kernel';
import { startRedis } from '@syncline/testkit';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import {
  cellsAt,
  deltasOf,
  linearNamespace,
  SEED,
  sumNamespace,
} from '../conformance/store-samples.js';
import { fairLimits } from '../limits.js';
import type { Namespace } from '../state/fair-store.js';
import type { RedisFairStoreDeps } from './redis-fair-store.js';
import { RedisRig } from './redis-rig.js';

const namespace: Namespace = { ...linearNamespace, name: 'api' };
const start = `v1:{api:${SEED}}:`;
const { defaultSeedsMax, defaultCellsMax, clientIdsMax, redisClientIdKeptMs } = fairLimits;

let rig: RedisRig;

beforeAll(async () => {
  rig = new RedisRig(await startRedis());
});
afterEach(() => rig.reset());
afterAll(() => rig[Symbol.asyncDispose]());

async function openStore(other: Partial<RedisFairStoreDeps> = {}) {
  const store = rig.openStore(other);
  await store.seeds(namespace); // connected
  return store;
}

const oneCell = deltasOf({ row: 0, column: 0, amount: 0.25 });
const refusedBy = (limit: string) => ({ code: 'limit-exceeded', details: { limit } });

test('of many concurrent new default seeds no more than the limit are accepted', async () => {
  const both = [await openStore(), await openStore()];
  const results = await Promise.allSettled(
    Array.from({ length: 200 }, async (_, index) =>
      both[index % 2]?.applyDelta(sumNamespace, BigInt(index), oneCell),
    ),
  );
  const refusals = results.filter((result) => result.status === 'rejected');
  expect(refusals).toHaveLength(200 - defaultSeedsMax.value);
  for (const { reason } of refusals) expect(reason).toMatchObject(refusedBy('defaultSeedsMax'));
  expect(await rig.admin.keys('v1:{*}:0')).toHaveLength(defaultSeedsMax.value);
});

test('a default seed that expired makes room for another', async () => {
  const store = await openStore();
  await rig.admin.sadd('v1:{meta}:seeds', 'nonsense');
  for (let seed = 1; seed < defaultSeedsMax.value; seed += 1)
    await rig.admin.sadd('v1:{meta}:seeds', seed);
  const change = async () => await store.applyDelta(sumNamespace, 1_000n, oneCell);
  await expect(change()).rejects.toMatchObject(refusedBy('defaultSeedsMax'));
  await vi.waitFor(change, { timeout: 60_000, interval: 50 }); // they are still gone a second later
  const infos = await store.seeds(sumNamespace);
  expect(infos.map(({ seed }) => seed)).toEqual([1_000n]);
});

test('default cells are limited across all seeds, and existing ones may change', async () => {
  const store = await openStore();
  await store.applyDelta(sumNamespace, 1n, oneCell);
  await rig.admin.hset('v1:{2}:meta', 'm', defaultCellsMax.value - 2);
  await rig.admin.sadd('v1:{meta}:seeds', '2');
  const other = await openStore();
  const two = deltasOf({ row: 7, column: 1, amount: 0.25 }, { row: 7, column: 2, amount: 0.25 });
  const refused = other.applyDelta(sumNamespace, 3n, two);
  await expect(refused).rejects.toMatchObject(refusedBy('defaultCellsMax'));
  expect(await cellsAt(other, sumNamespace, 3n)).toEqual([]);
  await other.applyDelta(sumNamespace, 1n, deltasOf({ row: 7, column: 1, amount: 0.25 }));
  await other.applyDelta(sumNamespace, 1n, oneCell);
  await expect(other.applyDelta(sumNamespace, 1n, two)).rejects.toMatchObject(
    refusedBy('defaultCellsMax'),
  );
  const left = await cellsAt(other, sumNamespace, 1n);
  expect(left.map(({ row, probability }) => [row, probability])).toEqual([
    [0, 0.5],
    [7, 0.25],
  ]);
});

test('F5 above the limit idle clients are forgotten, and none that may resend', async () => {
  let nowMs = 1_700_000_000_000;
  const store = await openStore({ scriptNowMs: () => nowMs });
  const apply = (clientId: string) =>
    store.applyDelta(namespace, SEED, oneCell, { clientId, seq: 1 });
  await apply('old');
  nowMs += redisClientIdKeptMs.value;
  const others = Array.from({ length: clientIdsMax.value }, (_, index) => `c${index}`);
  const clients = others.slice(1).flatMap((id) => [nowMs, id]);
  const seqs = others.slice(1).flatMap((id) => [`c:${id}`, 1]);
  await rig.admin.zadd(`${start}clients`, ...clients);
  await rig.admin.hset(`${start}meta`, ...seqs);
  expect((await apply('new')).result).toBe('applied');
  expect(await rig.admin.hexists(`${start}meta`, 'c:old')).toBe(0);
  expect(await rig.admin.zcard(`${start}clients`)).toBe(clientIdsMax.value);
  expect((await apply('newer')).result).toBe('applied');
  expect(await rig.admin.zcard(`${start}clients`)).toBe(clientIdsMax.value + 1);
  for (const id of ['new', 'newer', 'c1']) expect((await apply(id)).result).toBe('duplicate');
});

test('counters overwritten by others start over', async () => {
  const store = await openStore();
  const apply = (seq: number) =>
    store.applyDelta(namespace, SEED, oneCell, { clientId: 'one', seq });
  await apply(1);
  const incarnation = await rig.admin.hget(`${start}meta`, 'e');
  const bad = { n: 'zzz', t: 'nan', m: '-', 'c:one': '1e999' };
  await rig.admin.hset(`${start}meta`, bad);
  expect((await apply(2)).result).toBe('applied');
  const meta = await rig.admin.hgetall(`${start}meta`);
  expect(meta).toMatchObject({ n: '1', m: '0', 'c:one': '2' });
  expect(meta['e']).not.toBe(incarnation);
  expect(Number(meta['t'])).toBeGreaterThan(1_700_000_000_000);
  expect(await store.seeds(namespace)).toMatchObject([{ seed: SEED, cellsCount: 1 }]);
});

test('a key of another type is named, once in the log, with what to do', async () => {
  const error = vi.fn();
  const store = await openStore({ logger: { ...silentLogger, error, child: () => silentLogger } });
  await rig.admin.lpush(`${start}meta`, 'mine');
  const change = async () => await store.applyDelta(namespace, SEED, oneCell);
  for (const _ of [1, 2])
    await expect(change()).rejects.toMatchObject({
      code: 'unavailable',
      outcome: 'not-applied',
      message: expect.stringContaining(`the key ${start}meta in Redis is a list`),
    });
  expect(error).toHaveBeenCalledTimes(1);
  await rig.admin.del(`${start}meta`);
  expect((await change()).result).toBe('applied');
});

test('F13 an opaque seed in use keeps its unchanged rows', async () => {
  const short: Namespace = { ...sumNamespace, windowMs: 10_000 }; // a row lives for three windows
  const store = await openStore();
  await store.applyDelta(short, 42n, oneCell);
  await rig.admin.pexpire('v1:{42}:0', 15_000);
  await vi.waitFor(
    async () => {
      await store.applyDelta(short, 42n, deltasOf({ row: 1, column: 1, amount: 0.01 }));
      expect(await rig.admin.pttl('v1:{42}:0')).toBeGreaterThan(15_000);
    },
    { timeout: 60_000, interval: 100 },
  );
  expect((await cellsAt(store, short, 42n)).map(({ row }) => row)).toEqual([0, 1]);
});

test('a seed is removed with all its rows, however many, and its cells are counted once', async () => {
  const both = [await openStore(), await openStore()] as const;
  const rows = Array.from({ length: 1_200 }, (_, row) => ({ row, column: 3, amount: 0.5 }));
  await both[0].applyDelta(sumNamespace, 7n, deltasOf(...rows));
  const counts = await Promise.all(
    both.map(async (store) => await store.evictBefore(sumNamespace, 8n)),
  );
  expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(1_200);
  expect(await rig.admin.keys('v1:{7}:*')).toEqual([]);
});
