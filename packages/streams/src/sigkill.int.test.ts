import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { createSeededRandom } from '@syncline/kernel/testing';
import {
  type LocalService,
  makeTempDirectory,
  runKilled,
  type StreamPlan,
  startNats,
  startRedis,
  type TempDirectory,
} from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    readonly streamsKills: number;
  }
}

const KILLS = inject('streamsKills');
/** Part of the kills that each of the three pipelines takes. */
const KILLS_EACH = Math.ceil(KILLS / 3);
const TIMEOUT_MS = 60_000 + 5_000 * KILLS_EACH;
const RECORDS = 12_000;
const USERS = 200;

interface Order {
  readonly user: string;
  readonly amount: number;
}

let redis: LocalService;
let nats: LocalService;
let admin: Redis;
let directory: TempDirectory;

beforeAll(async () => {
  [redis, nats, directory] = await Promise.all([
    startRedis(),
    startNats(),
    makeTempDirectory('sigkill'),
  ]);
  admin = new Redis(redis.url);
});
afterAll(async () => {
  admin.disconnect();
  await redis[Symbol.asyncDispose]();
  await nats[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

function ordersOf(seed: string): readonly Order[] {
  const random = createSeededRandom(seed);
  return Array.from({ length: RECORDS }, () => ({
    user: `user-${random.u32() % USERS}`,
    amount: random.u32() % 1_000,
  }));
}

/** Two halves, for two partitions. */
function halvesOf<T>(items: readonly T[]): readonly [readonly T[], readonly T[]] {
  return [items.slice(0, items.length / 2), items.slice(items.length / 2)];
}

/** What the output must be, computed without any of the code under test. */
function checkTotals(lines: readonly string[], orders: readonly Order[]): void {
  const sums = new Map<string, number>();
  const counts = new Map<string, number>();
  for (const line of lines) {
    const { user, amount, total } = JSON.parse(line) as Order & { readonly total: number };
    const sum = (sums.get(user) ?? 0) + amount;
    expect(total, `running total of ${user}`).toBe(sum);
    sums.set(user, sum);
    counts.set(`${user} ${amount}`, (counts.get(`${user} ${amount}`) ?? 0) + 1);
  }
  for (const { user, amount } of orders) {
    const name = `${user} ${amount}`;
    counts.set(name, (counts.get(name) ?? 0) - 1);
  }
  expect([...counts].filter(([, count]) => count !== 0)).toEqual([]);
}

async function linesInFiles(dir: string): Promise<readonly string[]> {
  const parts = (await readdir(dir)).filter((name) => name.startsWith('part-')).sort();
  const texts = await Promise.all(parts.map((name) => readFile(join(dir, name), 'utf8')));
  return texts.join('').split('\n').slice(0, -1);
}

async function linesInStream(name: string): Promise<readonly string[]> {
  const entries = await admin.xrange(name, '-', '+');
  return entries.map(([, fields]) => fields[3] ?? '');
}

interface Round {
  readonly plan: StreamPlan;
  readonly orders: readonly Order[];
  /** The whole output of each sink, in order. */
  output(): Promise<readonly (readonly string[])[]>;
}

/** Rounds of one pipeline until it was killed often enough. The first of each seed is not killed. */
async function killRounds(name: string, prepare: (round: string, seed: string) => Promise<Round>) {
  const random = createSeededRandom(`sigkill/${name}`);
  const seed = `orders/${name}`;
  const calm = await prepare(`${name}-calm`, seed);
  expect(await runKilled(calm.plan, { random, killsMax: 0 })).toBe(0);
  const expected = await calm.output();
  for (const lines of expected) checkTotals(lines, calm.orders);
  let kills = 0;
  for (let round = 0; kills < KILLS_EACH; round += 1) {
    const { plan, output } = await prepare(`${name}-${round}`, seed);
    kills += await runKilled(plan, { random, killsMax: KILLS_EACH - kills });
    const found = await output();
    expect(found.length).toBe(expected.length);
    for (const [index, lines] of found.entries()) {
      expect(lines.join('\n') === expected[index]?.join('\n'), `round ${round}`).toBe(true);
    }
  }
  expect(kills).toBe(KILLS_EACH);
}

const common = { paceMs: 8, keepDeliveredMs: 10_000 };

test(
  'X54 files to files: byte-identical output however often the process is killed',
  async () => {
    await killRounds('files', async (round, seed) => {
      const orders = ordersOf(seed);
      const files = halvesOf(orders).map((_, index) =>
        join(directory.path, `${round}-${index}.jsonl`),
      );
      for (const [index, half] of halvesOf(orders).entries()) {
        const text = half.map((order) => `${JSON.stringify(order)}\n`).join('');
        await writeFile(files[index] ?? '', text);
      }
      const out = join(directory.path, `${round}-out`);
      const plan: StreamPlan = {
        ...common,
        dir: join(directory.path, `${round}-state`),
        from: { kind: 'files', files },
        to: { files: out },
      };
      return { plan, orders, output: async () => [await linesInFiles(out)] };
    });
  },
  TIMEOUT_MS,
);

test(
  'X54 Redis to Redis: identical streams and sums however often the process is killed',
  async () => {
    await killRounds('redis', async (round, seed) => {
      await admin.flushall();
      const orders = ordersOf(seed);
      const streams = ['in-a', 'in-b'];
      for (const [index, half] of halvesOf(orders).entries()) {
        const pipeline = admin.pipeline();
        for (const [n, order] of half.entries()) {
          pipeline.xadd(streams[index] ?? '', `1-${n + 1}`, 'value', JSON.stringify(order));
        }
        await pipeline.exec();
      }
      const plan: StreamPlan = {
        ...common,
        dir: join(directory.path, `${round}-state`),
        from: { kind: 'redis', url: redis.url, streams },
        to: { redis: { url: redis.url, name: 'out' } },
      };
      const output = async () => {
        await checkSums('out', orders);
        return [await linesInStream('out')];
      };
      return { plan, orders, output };
    });
  },
  TIMEOUT_MS,
);

test(
  'X54 NATS to files and Redis: identical output however often the process is killed',
  async () => {
    const connection = await connect({ servers: nats.url });
    const manager = await jetstreamManager(connection);
    const client = jetstream(connection);
    const orders = ordersOf('orders/nats');
    await manager.streams.add({ name: 'orders', subjects: ['orders.>'] });
    for (let start = 0; start < orders.length; start += 500) {
      const some = orders.slice(start, start + 500);
      await Promise.all(some.map((order) => client.publish('orders.new', JSON.stringify(order))));
    }
    await connection.close();
    await killRounds('nats', async (round) => {
      await admin.flushall();
      const out = join(directory.path, `${round}-out`);
      const plan: StreamPlan = {
        ...common,
        dir: join(directory.path, `${round}-state`),
        from: { kind: 'nats', url: nats.url, streams: ['orders'] },
        to: { files: out, redis: { url: redis.url, name: 'out' } },
      };
      const output = async () => {
        await checkSums('out', orders);
        return [await linesInFiles(out), await linesInStream('out')];
      };
      return { plan, orders, output };
    });
  },
  TIMEOUT_MS,
);

/** Increments show rows that were applied twice, or not at all. */
async function checkSums(name: string, orders: readonly Order[]): Promise<void> {
  const expected: Record<string, string> = {};
  for (const { user, amount } of orders) {
    expected[user] = String(Number(expected[user] ?? 0) + amount);
  }
  expect(await admin.hgetall(`${name}:sums`)).toEqual(expected);
}
