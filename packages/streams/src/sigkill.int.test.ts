// A real process, killed with SIGKILL at random, over pipelines from files, Redis and NATS.
//
// Each round runs one pipeline to its end across many restarts. STREAMS_KILLS sets the total number of kills. A long
// run can be watched, interrupted and continued: with STREAMS_KILLS_LOG=FILE each verified round becomes a line of
// that file, and the next run continues from there.
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { createSeededRandom } from '@syncline/kernel/testing';
import {
  type Kills,
  type LocalService,
  makeMemoryDirectory,
  runKilled,
  type StreamPlan,
  startNats,
  startRedis,
  type TempDirectory,
  totalOf,
} from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    readonly streamsKills: number;
    readonly streamsKillsLog: string;
  }
}

const KILLS = inject('streamsKills');
const LOG = inject('streamsKillsLog');
/** The fraction of the kills for each of the three pipelines. */
const KILLS_EACH = Math.ceil(KILLS / 3);
/** A kill takes about a second, and far longer on a busy machine. */
const TIMEOUT_MS = 120_000 + 20_000 * KILLS_EACH;
const RECORDS = 8_000;
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
    makeMemoryDirectory('sigkill'),
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

/** The expected output, computed without any of the code under test. */
function checkTotals(lines: readonly string[], orders: readonly Order[]): void {
  const sums = new Map<string, number>();
  const counts = new Map<string, number>();
  for (const line of lines) {
    const { user, amount, total } = JSON.parse(line) as Order & { readonly total: number };
    const sum = (sums.get(user) ?? 0) + amount;
    if (total !== sum) throw new Error(`running total of ${user}: ${total}, expected ${sum}`);
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

interface DoneRound {
  readonly pipeline: string;
  readonly round: number;
  readonly kills: Kills;
}

async function roundsDone(pipeline: string): Promise<readonly DoneRound[]> {
  if (LOG === '') return [];
  const text = await readFile(LOG, { encoding: 'utf8', flag: 'a+' });
  const rounds = text.split('\n').slice(0, -1);
  return rounds
    .map((line) => JSON.parse(line) as DoneRound)
    .filter((each) => each.pipeline === pipeline);
}

/**
 * Runs rounds of one pipeline until it was killed often enough. The output of each must equal that of a run without
 * kills.
 */
async function killRounds(
  pipeline: string,
  prepare: (round: string, seed: string) => Promise<Round>,
): Promise<void> {
  const seed = `orders/${pipeline}`;
  const calm = await prepare(`${pipeline}-calm`, seed);
  const random = createSeededRandom(seed);
  expect(totalOf(await runKilled(calm.plan, { random, killsMax: 0 }))).toBe(0);
  const expected = await calm.output();
  for (const lines of expected) checkTotals(lines, calm.orders);
  const done = await roundsDone(pipeline);
  let killsLeft = done.reduce((left, each) => left - totalOf(each.kills), KILLS_EACH);
  for (let round = done.length; killsLeft > 0; round += 1) {
    const { plan, output } = await prepare(`${pipeline}-${round}`, seed);
    const kills = await runKilled(plan, {
      random: createSeededRandom(`sigkill/${pipeline}/${round}`),
      killsMax: killsLeft,
    });
    const found = await output();
    expect(found.length).toBe(expected.length);
    for (const [index, lines] of found.entries()) {
      expect(lines.join('\n') === expected[index]?.join('\n'), `round ${round}`).toBe(true);
    }
    await rm(join(directory.path, `${pipeline}-${round}`), { recursive: true });
    killsLeft -= totalOf(kills);
    const line = { pipeline, round, kills } satisfies DoneRound;
    if (LOG !== '') await appendFile(LOG, `${JSON.stringify(line)}\n`);
  }
}

/** Slow enough that one round gets several kills: preparing and comparing it costs more than they do. */
const common = { paceMs: 250, keepDeliveredMs: 10_000 };

test.concurrent(
  'X54 files to files: byte-identical output however often the process is killed',
  async () => {
    await killRounds('files', async (round, seed) => {
      const orders = ordersOf(seed);
      const files = halvesOf(orders).map((_, index) =>
        join(directory.path, round, `${index}.jsonl`),
      );
      await mkdir(join(directory.path, round));
      for (const [index, half] of halvesOf(orders).entries()) {
        const text = half.map((order) => `${JSON.stringify(order)}\n`).join('');
        await writeFile(files[index] ?? '', text);
      }
      const out = join(directory.path, round, 'out');
      const plan: StreamPlan = {
        ...common,
        dir: join(directory.path, round, 'state'),
        from: { kind: 'files', files },
        to: { files: out },
      };
      return { plan, orders, output: async () => [await linesInFiles(out)] };
    });
  },
  TIMEOUT_MS,
);

test.concurrent(
  'X54 Redis to Redis: identical streams and sums however often the process is killed',
  async () => {
    await killRounds('redis', async (round, seed) => {
      const orders = ordersOf(seed);
      const streams = [`${round}-in-a`, `${round}-in-b`];
      for (const [index, half] of halvesOf(orders).entries()) {
        const pipeline = admin.pipeline();
        for (const [n, order] of half.entries()) {
          pipeline.xadd(streams[index] ?? '', `1-${n + 1}`, 'value', JSON.stringify(order));
        }
        await pipeline.exec();
      }
      const plan: StreamPlan = {
        ...common,
        dir: join(directory.path, round, 'state'),
        from: { kind: 'redis', url: redis.url, streams },
        to: { redis: { url: redis.url, name: `${round}-out` } },
      };
      const output = async () => {
        await checkSums(`${round}-out`, orders);
        return [await linesInStream(`${round}-out`)];
      };
      return { plan, orders, output };
    });
  },
  TIMEOUT_MS,
);

test.concurrent(
  'X54 NATS to files and Redis: identical output however often the process is killed',
  async () => {
    const connection = await connect({ servers: nats.url });
    const manager = await jetstreamManager(connection);
    const client = jetstream(connection);
    const orders = ordersOf('orders/nats');
    await manager.streams.add({ name: 'orders', subjects: ['orders.>'] });
    for (let start = 0; start < orders.length; start += 500) {
      const some = orders.slice(start, start + 500);
      const publish = (order: Order) =>
        client.publish('orders.new', JSON.stringify(order), { timeout: 60_000 });
      await Promise.all(some.map(publish));
    }
    await connection.close();
    await killRounds('nats', async (round) => {
      const out = join(directory.path, round, 'out');
      const plan: StreamPlan = {
        ...common,
        dir: join(directory.path, round, 'state'),
        from: { kind: 'nats', url: nats.url, streams: ['orders'] },
        to: { files: out, redis: { url: redis.url, name: `${round}-out` } },
      };
      const output = async () => {
        await checkSums(`${round}-out`, orders);
        return [await linesInFiles(out), await linesInStream(`${round}-out`)];
      };
      return { plan, orders, output };
    });
  },
  TIMEOUT_MS,
);

/** Increments reveal rows that were applied twice, or not at all. */
async function checkSums(name: string, orders: readonly Order[]): Promise<void> {
  const expected: Record<string, string> = {};
  for (const { user, amount } of orders) {
    expected[user] = String(Number(expected[user] ?? 0) + amount);
  }
  expect(await admin.hgetall(`${name}:sums`)).toEqual(expected);
}
