// Savepoints of a running pipeline: of a store that has lost something, and of one with many keys.
import { type Clock, type Storage, StorageBatch } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { callbackSink } from '../ends/callback-sink.js';
import { memorySource } from '../ends/memory-source.js';
import { memoryTarget, transactionSink } from '../ends/transaction-sink.js';
import { streamsLimits } from '../limits.js';
import { definePipeline } from '../pipeline/define.js';
import { type StartOptions, start } from '../run/start.js';
import { storeKeys } from './layout.js';

const sim = (name: string, body: (world: SimulatedBody) => Promise<void>) =>
  test(name, () => runInSimulation(name, body));

/** A run that has counted this many keys, each once, and then waits. */
async function counted(
  world: SimulatedBody,
  keys: number,
  options: StartOptions,
  clock: Clock = world.clock,
) {
  const records = Array.from({ length: keys + 1 }, (_, index) => index);
  const hold = (_: string, index: number) =>
    index >= keys ? new Promise<void>(() => {}) : undefined;
  const pipeline = definePipeline('counting', (p) => {
    p.source(
      memorySource({ uid: 'in', partitions: { a: records }, beforeBatch: hold, batchItems: 1 }),
    )
      .keyBy((key) => key)
      .reduce({ uid: 'counts', initial: () => 0, add: (before: number) => before + 1 })
      .to(callbackSink({ uid: 'out', call: async () => {} }));
  });
  const opened: Storage[] = [];
  const openStorage = async (at: string) => {
    const storage = await world.openStorage(at);
    opened.push(storage);
    return storage;
  };
  const ports = { ...world, clock, openStorage, path: (given: string) => given };
  const run = await start(pipeline, { dir: 'state', ...options }, ports);
  while (run.progress().recordsIn < keys) await world.clock.sleep(1);
  await run.checkpoint();
  const [storage] = opened;
  if (storage === undefined) throw new Error('the store was not opened');
  return { run, storage };
}

for (const [state, kind] of [
  ['memory', 'seg'],
  ['embedded', 'kv'],
] as const) {
  sim(
    `X41 T11 a savepoint does not leave out what the store has lost, ${state} state`,
    async (world) => {
      const { run, storage } = await counted(world, 20, { state, keyGroups: 4 });
      const batch = new StorageBatch();
      for await (const { key } of storage.range(storeKeys.under(kind))) {
        if (state === 'memory') batch.put(key, new Uint8Array(0));
        else batch.delete(key);
        break;
      }
      await storage.write(batch, { durability: 'synced' });
      await expect(run.savepoint('partial')).rejects.toMatchObject({ code: 'corrupt' });
      expect(await world.files.stat('state/savepoints/partial.snap')).toBeUndefined();
      await run.stop();
    },
  );
}

sim('a savepoint is written in slices, so that the run continues', async (world) => {
  const slices = 4;
  let turns = 0;
  const clock = new Proxy(world.clock, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name === 'defer') turns += 1;
      return value.bind(target);
    },
  });
  const keys = slices * streamsLimits.sliceEntriesMax.value;
  const { run } = await counted(world, keys, {}, clock);
  turns = 0;
  await run.savepoint('whole');
  expect(turns).toBeGreaterThanOrEqual(slices);
  await run.stop();
});

sim(
  'X41 a savepoint is restored onto a target that was left in the middle of an epoch',
  async (world) => {
    const table = memoryTarget();
    let partsLeft = Number.POSITIVE_INFINITY;
    const target: typeof table = {
      ...table,
      async apply(tx, rows) {
        partsLeft -= 1;
        if (partsLeft < 0) throw new Error('the connection broke');
        await table.apply(tx, rows);
      },
    };
    let recordsLeft = 1;
    const begin = (options: StartOptions) => {
      const pipeline = definePipeline('copy', (p) => {
        const beforeBatch = async (_: string, index: number) => {
          while (index >= recordsLeft) await world.clock.sleep(5);
        };
        p.source(
          memorySource({ uid: 'in', partitions: { a: [0, 1, 2] }, batchItems: 1, beforeBatch }),
        )
          .map((n) => ({ n, filler: 'x'.repeat(streamsLimits.outboxPartBytesMax.value - 100) }))
          .to(transactionSink({ uid: 'out', target }));
      });
      const openStorage = (at: string) => world.openStorage(at);
      const ports = { ...world, openStorage, path: (given: string) => given };
      return start(pipeline, { checkpoint: { everyMs: 60_000 }, ...options }, ports);
    };
    const stop = new AbortController();
    const first = await begin({ dir: 'first', signal: stop.signal });
    while (first.progress().recordsIn < 1) await world.clock.sleep(1);
    await first.checkpoint();
    await first.savepoint('good');
    recordsLeft = 3;
    partsLeft = 1;
    while (first.state !== 'stalled') await world.clock.sleep(1);
    stop.abort();
    await first.finished;
    partsLeft = Number.POSITIVE_INFINITY;
    const restoreFrom = 'first/savepoints/good.snap';
    const second = await begin({ dir: 'second', restoreFrom, repeats: 'accept' });
    await second.finished;
    const written = table.rows.map(({ value }) => (value as { readonly n: number }).n);
    expect(written).toEqual([0, 1, 1, 2]);
  },
);
