// The store with a real Redis that is disconnected, flushed, or loses its scripts or subscribers.
import { createSystemClock, createSystemRandom, silentLogger } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { type RedisServer, startFaultProxy, startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import {
  cellsAt,
  deltasOf,
  linearNamespace,
  listCells,
  SEED,
  sumNamespace,
} from '../conformance/store-samples.js';
import type { Applied, Namespace } from '../state/fair-store.js';
import { createRedisFairStore, type RedisFairStore } from './redis-fair-store.js';

const WAIT = { timeout: 60_000, interval: 5 };
const namespace: Namespace = {
  ...linearNamespace,
  name: 'api',
  rule: { policy: 'linear', ratePerSecond: 0 },
};
const cell = { row: 1, column: 7 };
const clock = createSystemClock();
const start = `v1:{api:${SEED}}:`;

let redis: RedisServer;
let admin: Redis;
let stores: RedisFairStore[] = [];
const counts = new Map<string, number>();

beforeAll(async () => {
  redis = await startRedis();
  admin = new Redis(redis.url);
});
beforeEach(async () => {
  counts.clear();
  await admin.flushall();
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  stores = [];
});
afterAll(async () => {
  admin.disconnect();
  await redis[Symbol.asyncDispose]();
});

function openStore(url = redis.url, fanOut: 'pubsub' | 'poll' = 'pubsub'): RedisFairStore {
  const metrics = {
    add: (name: string, amount = 1) => counts.set(name, (counts.get(name) ?? 0) + amount),
    set() {},
    observe() {},
  };
  const deps = { clock, random: createSystemRandom(), logger: silentLogger };
  const options = { url, fanOut, pollIntervalMs: 20 };
  const store = createRedisFairStore(options, { ...deps, metrics });
  stores.push(store);
  return store;
}

/** A copy of the cells, as a service keeps it: overwritten by everything it receives. */
function keepCopy(store: RedisFairStore, watched = namespace) {
  const copy = new Map<string, number>();
  const take = ({ cells }: Applied) => {
    for (const { row, column, probability } of listCells(cells))
      copy.set(`${row}/${column}`, probability);
  };
  store.watch(watched, take);
  return { copy, take };
}

/** What happened before that reaches a store only with a later change. */
const subscribed = () =>
  vi.waitFor(async () => expect(await admin.pubsub('NUMPAT')).toBeGreaterThan(0), WAIT);

const change = async (store: RedisFairStore, amount: number, seq?: number) =>
  await store.applyDelta(
    namespace,
    SEED,
    deltasOf({ ...cell, amount }),
    seq === undefined ? undefined : { clientId: 'one', seq },
  );

test('F5 over connections that are cut while answers are in flight, each change applies once', async () => {
  const random = createSeededRandom('cuts');
  await admin.config('RESETSTAT');
  await using proxy = await startFaultProxy({ target: { host: '127.0.0.1', port: redis.port } });
  const store = openStore(`redis://127.0.0.1:${proxy.address.port}`);
  await cellsAt(store, namespace, SEED); // connected
  const changesCount = 40;
  for (let seq = 1; seq <= changesCount; seq += 1) {
    const before = await connectionsCount();
    if (random.float() < 0.4)
      proxy.set({ resetAfterBytes: Math.floor(random.float() * 60) }, 'to-client');
    let isApplied = false;
    const healing = (async () => {
      while (!isApplied && (await connectionsCount()) === before) await clock.sleep(5);
      proxy.heal();
    })();
    // A client resends what failed, under the same number.
    await vi.waitFor(() => change(store, 1 / 128, seq), { timeout: 60_000, interval: 1 });
    isApplied = true;
    await healing;
  }
  const [stored] = await cellsAt(openStore(), namespace, SEED);
  expect(stored?.probability).toBe(changesCount / 128);
  expect(Number(await admin.hget(`${start}meta`, 'n'))).toBe(changesCount);
  expect(await callsOfScripts()).toBeGreaterThan(changesCount + 4); // so some were sent twice
});

/** One more whenever the store has opened another connection. */
async function connectionsCount(): Promise<number> {
  const stats = await admin.info('stats');
  return Number(/total_connections_received:(\d+)/.exec(stats)?.[1]);
}

async function callsOfScripts(): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
}

test('F5 a change that is resent through another replica is applied once', async () => {
  const [first, second] = [openStore(), openStore()];
  const { copy } = keepCopy(second);
  await change(first, 0.25, 1);
  const again = await change(second, 0.25, 1);
  expect(again.result).toBe('duplicate');
  expect(copy.get('1/7')).toBe(0.25);
});

test('F5 parts of a large message that were applied are not applied again', async () => {
  const store = openStore();
  const wide: Namespace = { ...namespace, shape: { levels: 3, columns: 1_200 } };
  const deltas = Array.from({ length: 1_200 }, (_, column) => ({ row: 0, column, amount: 0.25 }));
  const id = { clientId: 'one', seq: 3 };
  await store.applyDelta(wide, SEED, deltasOf(...deltas), id);
  // As if the first service had died after the second of three parts.
  expect(await admin.hexists(`${start}meta`, 'k:one')).toBe(0);
  await admin.hdel(`${start}meta`, 'c:one');
  await admin.hset(`${start}meta`, 'k:one', '3:2');
  const again = await openStore().applyDelta(wide, SEED, deltasOf(...deltas), id);
  expect(again.result).toBe('applied');
  const cells = await cellsAt(store, wide, SEED);
  const values = cells.map(({ column, probability }) => [column < 1_000, probability]);
  expect(values.filter(([isEarlier, p]) => p === (isEarlier ? 0.25 : 0.5))).toHaveLength(1_200);
});

test('F60 two replicas that write concurrently end with the same copy', async () => {
  const replicas = [openStore(), openStore()].map((store) => ({ store, ...keepCopy(store) }));
  const writes = replicas.flatMap(({ store, take }, replica) =>
    Array.from({ length: 150 }, async (_, index) => {
      const amount = (index % 3) - 0.75 + replica / 4;
      take(await store.applyDelta(namespace, SEED, deltasOf({ ...cell, amount })));
    }),
  );
  await Promise.all(writes);
  const [stored] = await cellsAt(openStore(), namespace, SEED);
  await vi.waitFor(() => {
    for (const { copy } of replicas) expect(copy.get('1/7')).toBe(stored?.probability ?? 0);
  }, WAIT);
});

test('a script that Redis does not have is sent again', async () => {
  const store = openStore();
  await change(store, 0.25);
  await admin.script('FLUSH');
  await change(store, 0.25);
  expect(counts.get('syncline_fair_redis_eval_fallbacks_total')).toBeGreaterThanOrEqual(1);
  expect((await cellsAt(store, namespace, SEED))[0]?.probability).toBe(0.5);
});

test('F60 a change that was not published is found by the counter, and the seed is read', async () => {
  const [store, other] = [openStore(), openStore()];
  const { copy } = keepCopy(store);
  await subscribed();
  await change(other, 0.25);
  await vi.waitFor(() => expect(copy.get('1/7')).toBe(0.25), WAIT);
  await admin.hset(`${start}1`, '9:prob', '0.5', '9:time', '1');
  await admin.hincrby(`${start}meta`, 'n', 1);
  await change(other, 0.25);
  await vi.waitFor(
    () =>
      expect([...copy]).toEqual([
        ['1/7', 0.5],
        ['1/9', 0.5],
      ]),
    WAIT,
  );
  expect(counts.get('syncline_fair_redis_gaps_total')).toBe(1);
});

test('F60 changes lost with their connection are read when it is back', async () => {
  const [store, other] = [openStore(), openStore()];
  const { copy } = keepCopy(store);
  await subscribed();
  await change(other, 0.25);
  await vi.waitFor(() => expect(copy.get('1/7')).toBe(0.25), WAIT);
  await admin.client('KILL', 'TYPE', 'PUBSUB');
  await change(other, 0.25);
  await vi.waitFor(() => expect(copy.get('1/7')).toBe(0.5), WAIT);
});

test('F60 an answer that waits for a change of flushed keys is returned', async () => {
  const store = openStore();
  keepCopy(store);
  await change(store, 0.25);
  await admin.hincrby(`${start}meta`, 'n', 1);
  const waiting = change(store, 0.25);
  await vi.waitFor(async () => expect(await admin.hget(`${start}meta`, 'n')).toBe('3'), WAIT);
  await admin.flushall();
  expect((await waiting).result).toBe('applied');
});

test('F3 what others wrote under our keys is read as a probability, or as 0', async () => {
  const store = openStore();
  await change(store, 0.25);
  await admin.hset(
    `${start}1`,
    '7:prob',
    '4',
    '8:prob',
    'nonsense',
    '9:prob',
    'nan',
    '9:time',
    '-',
  );
  const deltas = [7, 8, 9].map((column) => ({ row: 1, column, amount: -0.25 }));
  const read = await cellsAt(store, namespace, SEED);
  expect(read.map(({ probability }) => probability)).toEqual([1]);
  const { cells } = await store.applyDelta(namespace, SEED, deltasOf(...deltas));
  expect(listCells(cells).map(({ probability }) => probability)).toEqual([0.75, 0, 0]);
});

test('by polling, changes of others arrive too', async () => {
  const [store, other] = [openStore(redis.url, 'poll'), openStore()];
  const { copy } = keepCopy(store);
  await change(other, 0.25);
  await vi.waitFor(() => expect(copy.get('1/7')).toBe(0.25), WAIT);
});

test('keys are those of the contract, and live for three windows', async () => {
  const store = openStore();
  await change(store, 0.1, 5);
  await store.applyDelta(sumNamespace, 42n, deltasOf({ ...cell, amount: 0.5, timeMs: 17 }));
  const keys = (await admin.keys('*')).sort();
  expect(keys).toEqual(
    [
      `${start}1`,
      `${start}clients`,
      `${start}meta`,
      `${start}rows`,
      'v1:{api:meta}:active',
      'v1:{api:meta}:seeds',
      'v1:{42}:1',
      'v1:{42}:clients',
      'v1:{42}:meta',
      'v1:{42}:rows',
      'v1:{meta}:epoch',
      'v1:{meta}:seeds',
    ].sort(),
  );
  for (const key of keys) {
    const leftMs = await admin.pttl(key);
    expect(leftMs).toBeGreaterThan(840_000);
    expect(leftMs).toBeLessThanOrEqual(900_000);
  }
  expect(await admin.hgetall('v1:{42}:1')).toEqual({ '7:prob': '0.5', '7:time': '17' });
  expect(await admin.hget(`${start}1`, '7:prob')).toBe('0.10000000000000001');
  expect(await admin.hget(`${start}meta`, 'c:one')).toBe('5');
});

test('listeners are notified when Redis is lost for a second, and when it is back', async () => {
  const store = openStore();
  await change(store, 0.25);
  const received: boolean[] = [];
  store.shared.onReachable((isReachable) => received.push(isReachable));
  redis.freeze();
  const outcome = change(store, 0.25, 1).catch((error: unknown) => error);
  await vi.waitFor(() => expect(received).toEqual([false]), WAIT);
  expect(await outcome).toMatchObject({ name: 'SynclineError', outcome: 'unknown' });
  await expect(change(store, 0.25, 2)).rejects.toMatchObject({ outcome: 'not-applied' });
  redis.thaw();
  await vi.waitFor(() => expect(received).toEqual([false, true]), WAIT);
  const repeated = await change(store, 0.25, 1); // whether it was applied or not: once
  expect(['applied', 'duplicate']).toContain(repeated.result);
  expect((await cellsAt(store, namespace, SEED))[0]?.probability).toBe(0.5);
});
