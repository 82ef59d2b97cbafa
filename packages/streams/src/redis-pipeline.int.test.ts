import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDirectory, startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { memorySource } from './ends/memory-source.js';
import { definePipeline } from './pipeline/define.js';
import { redisStreamSink } from './redis.js';
import { start } from './run/start.js';

/** A gate that each batch waits for. */
function gates(count: number) {
  const opened: (() => void)[] = [];
  const waits = Array.from(
    { length: count },
    () => new Promise<void>((resolve) => opened.push(resolve)),
  );
  return { wait: (batch: number) => waits[batch], open: (batch: number) => opened[batch]?.() };
}

/** One record per batch, each in its own epoch when its gate opens. */
function numbers(url: string, gate: (batch: number) => Promise<void> | undefined) {
  const records = [1, 2, 3, 4];
  return definePipeline('numbers', (p) => {
    p.source(
      memorySource({
        uid: 'in',
        partitions: { p: records },
        batchItems: 1,
        beforeBatch: async (_partition, index) => gate(index),
      }),
    ).to(redisStreamSink({ uid: 'out', url, stream: 'out' }));
  });
}

const checkpoint = { everyMs: 50, minPauseMs: 1 };
const open = () => Promise.resolve();

async function valuesOf(client: Redis): Promise<readonly string[]> {
  const entries = await client.xrange('out', '-', '+');
  return entries.map(([, fields]) => fields[3] ?? '');
}

test('T17 X55 epochs lost by a Redis without its log are delivered again after a restart', async () => {
  await using redis = await startRedis();
  await using directory = await makeTempDirectory('lost');
  const client = new Redis(redis.url, { maxRetriesPerRequest: 100 });
  client.on('error', () => undefined);
  const gate = gates(4);
  const dir = join(directory.path, 'state');
  const run = await start(numbers(redis.url, gate.wait), { dir, checkpoint });
  for (const batch of [0, 1]) {
    gate.open(batch);
    await expect.poll(() => valuesOf(client), { timeout: 60_000 }).toHaveLength(batch + 1);
    if (batch === 0) await client.save();
  }
  await redis.kill();
  await redis.start();
  expect(await valuesOf(client)).toEqual(['1']);
  gate.open(2);
  await expect(run.finished).rejects.toMatchObject({ code: 'out-of-step' });
  expect(await valuesOf(client)).toEqual(['1']);
  {
    await using again = await start(numbers(redis.url, open), { dir, checkpoint });
    await again.finished;
  }
  expect(await valuesOf(client)).toEqual(['1', '2', '3', '4']);
  client.disconnect();
});

test('T16 X55 only one of a directory and its copy may write, and an old copy is out of step', async () => {
  await using redis = await startRedis();
  await using directory = await makeTempDirectory('copies');
  const client = new Redis(redis.url);
  const [dir, copy, old] = ['state', 'copy', 'old'].map((name) => join(directory.path, name));
  if (dir === undefined || copy === undefined || old === undefined) throw new Error('no paths');
  const gate = gates(4);
  const runIn = async (place: string, batches: number) => {
    await using run = await start(numbers(redis.url, gate.wait), { dir: place, checkpoint });
    for (let batch = 0; batch < batches; batch += 1) gate.open(batch);
    await expect.poll(() => valuesOf(client), { timeout: 60_000 }).toHaveLength(batches);
    expect(run.state).toBe('running');
  };
  await runIn(dir, 1);
  await cp(dir, old, { recursive: true });
  await runIn(dir, 2);
  await cp(dir, copy, { recursive: true });
  await runIn(copy, 3);
  const numbersIn = (place: string) => start(numbers(redis.url, open), { dir: place, checkpoint });
  await expect(numbersIn(old)).rejects.toMatchObject({ code: 'out-of-step' });
  await expect(numbersIn(dir)).rejects.toMatchObject({ code: 'out-of-step' });
  await using run = await numbersIn(copy);
  await run.finished;
  expect(await valuesOf(client)).toEqual(['1', '2', '3', '4']);
  client.disconnect();
});
