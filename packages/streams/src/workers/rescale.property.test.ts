// X64: whatever the number of workers at each start, and wherever each run was stopped, state and output equal those
// of a single worker.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fileSink } from '../ends/file-sink.js';
import { memorySource } from '../ends/memory-source.js';
import { definePipeline, type Pipeline } from '../pipeline/define.js';
import { declareStates } from '../pipeline/graph.js';
import { tumbling } from '../pipeline/window.js';
import { start } from '../run/start.js';
import { numberCodec } from '../state/codec.js';
import { groupOf, type Key } from '../state/key.js';
import { type AggregateDescription, aggregate } from '../state/state-backend.js';
import { readFrame } from '../store/layout.js';
import { MemoryStates } from '../store/memory-states.js';
import { ownerOf } from './exchange.js';
import { SimulatedWorkers } from './simulated-workers.js';

const KEY_GROUPS = 16;

interface Event {
  readonly key: Key;
  readonly t: number;
}

const keys = fc.oneof(
  fc.string({ maxLength: 3, unit: 'grapheme' }),
  fc.integer({ min: -3, max: 3 }),
  fc.bigInt({ min: -3n, max: 3n }),
);

/** Each partition is in order of time, so no item is late. */
const partitionsOf = fc
  .array(fc.array(fc.record({ key: keys, t: fc.nat(1_000) }), { maxLength: 40 }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((lists) =>
    Object.fromEntries(
      lists.map((list, index) => [`p${index}`, list.sort((left, right) => left.t - right.t)]),
    ),
  );

/** How many workers a run has, and after how many ms it is stopped. */
const lives = fc.array(fc.record({ workers: fc.integer({ min: 1, max: 9 }), ms: fc.nat(60) }), {
  minLength: 1,
  maxLength: 5,
});

const text = (key: Key) => `${typeof key} ${key}`;

function pipelineOf(partitions: Readonly<Record<string, readonly Event[]>>): Pipeline {
  return definePipeline('rescale', (p) => {
    const keyed = p
      .source(memorySource({ uid: 'in', partitions, batchItems: 4 }), { eventTime: ({ t }) => t })
      .keyBy((event) => event.key);
    keyed
      .process<{ count: AggregateDescription<number> }, string>({
        uid: 'counts',
        state: { count: aggregate(numberCodec) },
        onItem(event: Event, ctx) {
          ctx.setTimer(event.t + 100);
          ctx.emit(`${text(event.key)} ${ctx.state.count.update((n = 0) => n + 1)}`);
        },
        onTimer({ atMs }, ctx) {
          ctx.emit(`${text(ctx.key)} at ${atMs}`);
        },
      })
      .keyBy((line) => line.length)
      .reduce({ uid: 'lengths', initial: () => 0, add: (n: number) => n + 1 })
      .map(({ key, value }) => `length ${key} ${value}`)
      .to(fileSink({ uid: 'out', dir: 'out' }));
    keyed
      .window(tumbling({ sizeMs: 300 }), {
        uid: 'windows',
        late: 'drop',
        codec: numberCodec,
        initial: () => 0,
        add: (n) => n + 1,
      })
      .map(({ key, startMs, value }) => `${text(key)} ${startMs} ${value}`)
      .to(fileSink({ uid: 'windows-out', dir: 'windows' }));
  });
}

async function startIn(world: SimulatedBody, pipeline: Pipeline, workers: number) {
  const { clock, random, logger, files, openStorage } = world;
  const { spawn } = new SimulatedWorkers(world, pipeline);
  const checkpoint = { everyMs: 50, everyRecords: 10, minPauseMs: 0 };
  return await start(
    pipeline,
    { dir: 'state', workers, keyGroups: KEY_GROUPS, checkpoint },
    {
      clock,
      random,
      logger,
      files,
      path: (path) => path,
      openStorage: (path) => openStorage(path),
      spawnWorkers: spawn,
    },
  );
}

/** Output as a multiset, and every key of every state, as stored. */
async function resultOf(world: SimulatedBody, pipeline: Pipeline) {
  const lines: string[] = [];
  for (const dir of ['out', 'windows']) {
    for (const name of await world.files.list(dir)) {
      if (!name.startsWith('part-')) continue;
      const bytes = await world.files.readAt(`${dir}/${name}`, 0, 1e9);
      lines.push(...Buffer.from(bytes).toString().trim().split('\n'));
    }
  }
  const storage = await world.openStorage('state/db');
  const { head } = readFrame(storage);
  const states = new MemoryStates(storage, world.clock);
  const entries: string[] = [];
  for (const state of declareStates(pipeline.build(), KEY_GROUPS)) {
    await states.open(state, head);
    const { uid } = state.schema;
    await states.forEach(uid, ({ key, value }) => {
      entries.push(`${uid} ${text(key)} ${JSON.stringify(value)}`);
    });
  }
  await storage.close();
  return { lines: lines.sort(), entries: entries.sort(), records: head?.recordsIn };
}

test('I9 X64 any number of workers at each start gives the same state and output', async () => {
  await fc.assert(
    fc.asyncProperty(partitionsOf, lives, async (partitions, runs) => {
      const pipeline = pipelineOf(partitions);
      const expected = await runInSimulation('one', async (world) => {
        await (await startIn(world, pipeline, 1)).finished;
        return await resultOf(world, pipeline);
      });
      const found = await runInSimulation('several', async (world) => {
        for (const { workers, ms } of runs) {
          const run = await startIn(world, pipeline, workers);
          await world.clock.sleep(ms);
          await run.stop();
        }
        await (await startIn(world, pipeline, 3)).finished;
        return await resultOf(world, pipeline);
      });
      expect(found).toEqual(expected);
    }),
    { numRuns: 12 },
  );
}, 60_000);

test('X62 T8 D9 every key group has one owner, and the hash is pinned', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(63), (keyGroups, more) => {
      const workers = Math.min(more + 1, keyGroups);
      const owners = Array.from({ length: keyGroups }, (_, g) => ownerOf(g, workers, keyGroups));
      expect(new Set(owners).size).toBe(workers); // each has some
      expect(owners).toEqual([...owners].sort((left, right) => left - right)); // in ranges
      expect(owners.at(-1)).toBe(workers - 1);
    }),
  );
  const vectors: readonly (readonly [Key, number])[] = [
    ['user-1', 27],
    [42, 114],
    ['', 42],
    ['é', 120],
  ];
  for (const [key, group] of vectors) expect(groupOf(key, 128)).toBe(group);
});
