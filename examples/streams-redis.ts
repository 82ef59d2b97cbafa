// Reads orders from two Redis Streams and keeps the total of each customer in a Redis hash. The pipeline is
// stopped in the middle and started again. Every order counts once.
//
//   npm run example -- streams-redis                                    starts a redis-server of its own
//   REDIS_URL=redis://127.0.0.1:6379/9 npm run example -- streams-redis     uses yours; it must be 7.0 or later
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts } from '@syncline/kernel/node';
import { definePipeline, type OutboxRow, start } from '@syncline/streams';
import { redisKvSink, redisStreamSource } from '@syncline/streams/redis';
import { Redis } from 'ioredis';

const ORDERS = 2_000;
const STREAMS = ['example:orders-north', 'example:orders-south'];
const PREFIX = 'example:';

interface Order {
  readonly customer: string;
  readonly cents: number;
}

function totals(url: string) {
  return definePipeline('redis-totals', (p) => {
    const orders = redisStreamSource<Order>({ uid: 'orders', url, streams: STREAMS, ack: 'trim' });
    p.source(orders).to(redisKvSink({ uid: 'totals', url, prefix: PREFIX, write: addToTotal }));
  });
}

/** An increment can be repeated safely: the sink stores a guard next to it. */
function addToTotal({ value }: OutboxRow) {
  const { customer, cents } = value as unknown as Order;
  return [{ kind: 'increment-field', key: 'totals', field: customer, by: cents }] as const;
}

/** Adds half of the orders to both streams, and returns their sum. */
async function produce(redis: Redis): Promise<number> {
  let sum = 0;
  for (let order = 0; order < ORDERS / 2; order += 1) {
    const cents = 1 + Math.floor(Math.random() * 10_000);
    const value = JSON.stringify({ customer: `customer-${order % 7}`, cents });
    await redis.xadd(STREAMS[order % 2] ?? '', '*', 'value', value);
    sum += cents;
  }
  return sum;
}

async function sumOfTotals(redis: Redis): Promise<number> {
  const values = await redis.hvals(`${PREFIX}totals`);
  return values.reduce((sum, value) => sum + Number(value), 0);
}

/** Runs the pipeline until its checkpoints contain at least `recordsMin` orders. */
async function countUntil(url: string, dir: string, recordsMin: number): Promise<void> {
  await using run = await start(totals(url), { dir, checkpoint: { everyMs: 50 } });
  for await (const { epoch, records } of run.checkpoints()) {
    process.stdout.write(`epoch ${epoch}: ${records} of ${ORDERS} orders\n`);
    if (records >= recordsMin) break;
  }
} // stops cleanly, at a checkpoint

async function countOrders(url: string, dir: string): Promise<void> {
  const redis = new Redis(url);
  try {
    await redis.del(...STREAMS, `${PREFIX}totals`, `${PREFIX}syncline:guard`);
    let expected = await produce(redis);
    await countUntil(url, dir, 1);
    process.stdout.write(`stopped: ${await sumOfTotals(redis)} cents counted so far\n`);
    expected += await produce(redis);
    await countUntil(url, dir, ORDERS);
    const sum = await sumOfTotals(redis);
    process.stdout.write(`${expected} cents ordered, ${sum} counted\n`);
    if (sum !== expected) throw new Error('an order was lost or counted twice');
  } finally {
    redis.disconnect();
  }
}

async function withOwnRedis(work: string, use: (url: string) => Promise<void>): Promise<void> {
  const [port] = await findFreePorts(1);
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', ''];
  const server = spawn('redis-server', options, { cwd: work });
  const ready = new Promise<void>((resolve) => {
    server.stdout.on('data', (text: Buffer) => text.includes('Ready to accept') && resolve());
  });
  const failed = once(server, 'error').then(() => {
    throw new Error(
      'redis-server cannot be started. Install it (Debian: apt-get install redis-server), or set REDIS_URL.',
    );
  });
  try {
    await Promise.race([ready, failed]);
    await use(`redis://127.0.0.1:${port}`);
  } finally {
    server.kill();
  }
}

const work = await mkdtemp(join(tmpdir(), 'syncline-redis-'));
try {
  const { REDIS_URL: given } = process.env;
  const use = (url: string) => countOrders(url, join(work, 'state'));
  await (given === undefined ? withOwnRedis(work, use) : use(given));
} finally {
  await rm(work, { recursive: true, force: true });
}
