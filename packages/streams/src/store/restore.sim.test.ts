// A restore that was interrupted has filled part of the store, but has not written `meta`.
import { StorageBatch } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { memorySource } from '../ends/memory-source.js';
import { memoryTarget, transactionSink } from '../ends/transaction-sink.js';
import { definePipeline } from '../pipeline/define.js';
import { type StartOptions, start } from '../run/start.js';
import { storeKeys } from './layout.js';

const sim = (name: string, body: (world: SimulatedBody) => Promise<void>) =>
  test(name, () => runInSimulation(name, body));

/** Counts keys and returns the output. With `savepoint`, only the first one, and saves the result. */
async function count(
  world: SimulatedBody,
  keys: readonly string[],
  options: StartOptions,
  savepoint?: string,
): Promise<readonly unknown[]> {
  const table = memoryTarget();
  const pipeline = definePipeline('counting', (p) => {
    const hold = (_: string, index: number) =>
      savepoint !== undefined && index > 0 ? new Promise<void>(() => {}) : undefined;
    p.source(memorySource({ uid: 'in', partitions: { a: keys }, batchItems: 1, beforeBatch: hold }))
      .keyBy((key) => key)
      .reduce({ uid: 'counts', initial: () => 0, add: (before: number) => before + 1 })
      .map(({ key, value }) => `${key}=${value}`)
      .to(transactionSink({ uid: 'out', target: table }));
  });
  const ports = { ...world, path: (given: string) => given };
  const openStorage = (at: string) => world.openStorage(at);
  const run = await start(pipeline, { state: 'embedded', ...options }, { ...ports, openStorage });
  if (savepoint === undefined) await run.finished;
  else {
    while (run.progress().recordsIn < 1) await world.clock.sleep(1);
    await run.checkpoint();
    await run.savepoint(savepoint);
    await run.stop();
  }
  return table.rows.map(({ value }) => value);
}

/** A directory whose store has the entries of another one, and nothing else. */
async function leaveEntries(world: SimulatedBody, from: string, to: string): Promise<void> {
  const source = await world.openStorage(`${from}/db`);
  const target = await world.openStorage(`${to}/db`);
  const batch = new StorageBatch();
  const entries = source.range(storeKeys.under('kv'));
  for await (const { key, value } of entries) batch.put(key, value);
  expect(batch.length).toBeGreaterThan(0);
  await target.write(batch, { durability: 'synced' });
  await source.close();
  await target.close();
  await world.files.makeDir(to);
  await world.files.append(`${to}/FORMAT`, Buffer.from('syncline-streams 1\n'));
}

sim('X41 after an interrupted restore, a new pipeline begins with empty state', async (world) => {
  expect(await count(world, ['a', 'b'], { dir: 'first' })).toEqual(['a=1', 'b=1']);
  await leaveEntries(world, 'first', 'second');
  expect(await count(world, ['b', 'c'], { dir: 'second' })).toEqual(['b=1', 'c=1']);
});

sim('X41 after an interrupted restore, another savepoint restores only itself', async (world) => {
  await count(world, ['a', 'b'], { dir: 'first' });
  await count(world, ['c', 'held'], { dir: 'other' }, 'good');
  await leaveEntries(world, 'first', 'second');
  const restoreFrom = 'other/savepoints/good.snap';
  const options = { dir: 'second', restoreFrom, repeats: 'accept' } as const;
  expect(await count(world, ['c', 'c', 'a'], options)).toEqual(['c=2', 'a=1']);
});

sim(
  'X41 a savepoint of another pipeline is refused, and the directory stays empty',
  async (world) => {
    await count(world, ['c', 'held'], { dir: 'other' }, 'good');
    const restoreFrom = 'other/savepoints/good.snap';
    const options = { dir: 'second', restoreFrom, repeats: 'accept' } as const;
    await expect(count(world, ['c', 'c'], { ...options, keyGroups: 7 })).rejects.toMatchObject({
      code: 'incompatible',
    });
    expect(await count(world, ['c', 'c'], options)).toEqual(['c=2']);
  },
);
