// Runs under a simulated disk and clock: stops, disk faults, renamed state, fences, savepoints.
import { StorageBatch, type SynclineError } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { StoredKeys } from '../embedded/stored-layout.js';
import { fileSink } from '../ends/file-sink.js';
import { jsonlSource } from '../ends/jsonl-source.js';
import { memorySource } from '../ends/memory-source.js';
import type { Source } from '../ends/source.js';
import { definePipeline, type Pipeline } from '../pipeline/define.js';
import { tumbling } from '../pipeline/window.js';
import { type Codec, numberCodec } from '../state/codec.js';
import { aggregate } from '../state/state-backend.js';
import { storeKeys } from '../store/layout.js';
import type { PipelineRun } from './run.js';
import { type StartOptions, start } from './start.js';

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

interface Shape {
  readonly records?: readonly number[];
  readonly uid?: string;
  readonly was?: string;
  readonly codec?: Codec<number>;
  readonly migrateFrom?: readonly Codec<number>[];
  readonly dir?: string;
  /** The source waits here until it is released. */
  readonly pauseAt?: number;
}

function counting(shape: Shape = {}): Pipeline {
  const { records = numbers(200), uid = 'totals', was, codec = numberCodec, dir = 'out' } = shape;
  const { migrateFrom = [], pauseAt = Number.POSITIVE_INFINITY } = shape;
  return definePipeline('counting', (p) => {
    p.source(
      memorySource({
        uid: 'in',
        partitions: { a: records },
        batchItems: 10,
        beforeBatch: (_, index) => (index >= pauseAt ? new Promise<void>(() => {}) : undefined),
      }),
    )
      .keyBy((n) => n % 5)
      .process({
        uid,
        ...(was !== undefined && { was }),
        state: { total: aggregate(codec, { migrateFrom }) },
        onItem(n: number, ctx) {
          ctx.emit({ n, total: ctx.state.total.update((before = 0) => before + n) });
        },
      })
      .to(fileSink({ uid: 'out', dir }));
  });
}

function startIn(world: SimulatedBody, pipeline: Pipeline, options: StartOptions = {}) {
  const { clock, random, logger, files, openStorage } = world;
  const path = (given: string) => given;
  const checkpoint = { everyMs: 50, everyRecords: 40, minPauseMs: 0 };
  const deps = { clock, random, logger, files, path, openStorage: (at: string) => openStorage(at) };
  return start(pipeline, { dir: 'state', checkpoint, ...options }, deps);
}

async function linesOf({ files }: SimulatedBody, dir = 'out'): Promise<readonly string[]> {
  let text = '';
  for (const name of await files.list(dir)) {
    if (!name.startsWith('part-')) continue;
    text += Buffer.from(await files.readAt(`${dir}/${name}`, 0, 1e9)).toString();
  }
  return text.split('\n').filter((line) => line !== '');
}

const expectedLines = (records = numbers(200)) => {
  const totals = new Map<number, number>();
  return records.map((n) => {
    const total = (totals.get(n % 5) ?? 0) + n;
    totals.set(n % 5, total);
    return JSON.stringify({ n, total });
  });
};

const sim = (name: string, body: (world: SimulatedBody) => Promise<void>) =>
  test(name, () => runInSimulation(name, body));

/** Waits until the run has read as much as it will before its source pauses. */
async function read(world: SimulatedBody, run: PipelineRun, records: number): Promise<void> {
  while (run.progress().recordsIn < records) await world.clock.sleep(5);
}

describe('event time', () => {
  sim(
    'X31 T19 does not go back with a restart, although an idle partition woke up behind it',
    async (world) => {
      let lives = 0;
      const at = (t: number) => ({ t });
      const source: Source<{ readonly t: number }, number> = {
        uid: 'in',
        isFinite: false,
        partitions: async () => ['late', 'main'],
        check: async () => {},
        async *read(partition, from, signal) {
          if (lives > 1) {
            yield { items: partition === 'late' ? [at(7)] : [], position: 9, end: true };
            return;
          }
          if (partition === 'main') yield { items: [at(5), at(1_000)], position: 2 };
          else {
            yield { items: [], position: 0, idle: true };
            await world.clock.sleep(100, signal);
            yield { items: [at(6)], position: (from ?? 0) + 1 };
          }
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        },
      };
      const pipeline = definePipeline('windows', (p) => {
        p.source(source, { eventTime: ({ t }) => t })
          .keyBy(() => 'all')
          .window(tumbling({ sizeMs: 10 }), {
            uid: 'windows',
            late: 'drop',
            initial: () => 0,
            add: (n: number) => n + 1,
          })
          .map(({ startMs, value }) => `${startMs}: ${value}`)
          .to(fileSink({ uid: 'out', dir: 'out' }));
      });
      lives = 1;
      const run = await startIn(world, pipeline);
      await read(world, run, 3);
      await run.stop();
      lives = 2;
      const again = await startIn(world, pipeline);
      await again.finished;
      expect(await linesOf(world)).toEqual(['"0: 1"', '"1000: 1"']);
    },
  );
});

describe('a store that cannot be used', () => {
  sim(
    'X36 T11 T15 damage and a second process are refused, with nothing changed',
    async (world) => {
      const run = await startIn(world, counting({ pauseAt: 80 }));
      await read(world, run, 80);
      await expect(startIn(world, counting())).rejects.toMatchObject({ code: 'locked' });
      await run.checkpoint();
      expect(await run.savepoint('before')).toBe('state/savepoints/before.snap');
      await run.stop();
      const storage = await world.openStorage('state/db');
      const keys: Uint8Array[] = [];
      for await (const { key } of storage.range()) keys.push(key);
      await storage.close();
      let refused = 0;
      for (const key of keys) {
        const name = Buffer.from(key).toString('latin1');
        if (name.startsWith('hist/')) continue;
        for (const damage of ['flip', 'lose'] as const) {
          const open = await world.openStorage('state/db');
          const before = open.get(key) as Uint8Array;
          const batch = new StorageBatch();
          if (damage === 'lose') batch.delete(key);
          else
            batch.put(
              key,
              before.map((byte, at) => (at === before.length >> 1 ? byte ^ 1 : byte)),
            );
          await open.write(batch, { durability: 'synced' });
          await open.close();
          const outcome = await startIn(world, counting()).then(
            () => 'started',
            (error: SynclineError) => error,
          );
          // The store is then either older than its output, or damaged: it is refused in both cases.
          expect(outcome, `${damage} ${name}`).toMatchObject({
            code: expect.stringMatching(/corrupt|out-of-step|conflict/),
          });
          if ((outcome as SynclineError).code === 'corrupt') {
            expect((outcome as SynclineError).details['savepoints']).toEqual([
              'state/savepoints/before.snap',
            ]);
          }
          refused += 1;
          const repair = await world.openStorage('state/db');
          await repair.write(new StorageBatch().put(key, before), { durability: 'synced' });
          await repair.close();
        }
      }
      expect(refused).toBeGreaterThan(10);
      const again = await startIn(world, counting());
      await again.finished;
      expect(await linesOf(world)).toEqual(expectedLines());
    },
  );
});

describe('embedded state', () => {
  /** Every record has its own key. */
  const keyed = (records: readonly number[], pauseAt = Number.POSITIVE_INFINITY) =>
    definePipeline('keyed', (p) => {
      p.source(
        memorySource({
          uid: 'in',
          partitions: { a: records },
          batchItems: 10,
          beforeBatch: (_, index) => (index >= pauseAt ? new Promise<void>(() => {}) : undefined),
        }),
      )
        .keyBy((n) => n)
        .process({
          uid: 'seen',
          state: { count: aggregate(numberCodec) },
          onError: fileSink({ uid: 'dead', dir: 'dead' }),
          onItem(n: number, ctx) {
            ctx.emit({ n, count: ctx.state.count.update((before = 0) => before + 1) });
          },
        })
        .to(fileSink({ uid: 'out', dir: 'out' }));
    });
  const embedded = { state: 'embedded', checkpoint: { everyMs: 60_000 } } as const;

  sim('changes beyond the cache force checkpoints and never fail the run', async (world) => {
    const cacheBytesMax = 400_000;
    const run = await startIn(world, keyed(numbers(3_000)), { ...embedded, cacheBytesMax });
    await run.finished;
    expect(run.progress().epoch).toBeGreaterThan(5);
    expect(await linesOf(world)).toHaveLength(3_000);
  });

  sim(
    'T11 damage found while processing a record stops the run and is not a dead letter',
    async (world) => {
      const twice = [...numbers(100), ...numbers(100)];
      const first = await startIn(world, keyed(twice, 100), embedded);
      await read(world, first, 100);
      await first.checkpoint();
      await first.savepoint('good');
      await first.stop();
      const storage = await world.openStorage('state/db');
      const { storageKey } = new StoredKeys('seen/count', 128).entry(50);
      const entry = storage.get(storageKey) as Uint8Array;
      const damaged = entry.map((byte, at) => (at === 3 ? byte ^ 1 : byte));
      await storage.write(new StorageBatch().put(storageKey, damaged), { durability: 'synced' });
      await storage.close();
      const run = await startIn(world, keyed(twice), embedded);
      await expect(run.finished).rejects.toMatchObject({
        code: 'corrupt',
        details: { savepoints: ['state/savepoints/good.snap'] },
      });
      expect(await linesOf(world, 'dead')).toEqual([]);
      expect(await linesOf(world)).toHaveLength(100);
    },
  );
});

describe('changed pipelines', () => {
  async function firstHalf(world: SimulatedBody, shape: Shape = {}): Promise<void> {
    const run = await startIn(world, counting({ ...shape, pauseAt: 100 }));
    await read(world, run, 100);
    await run.stop();
  }

  sim('T9 D6 state of a missing operator is refused, renamed or dropped', async (world) => {
    await firstHalf(world);
    const renamed = counting({ uid: 'totals-2' });
    await expect(startIn(world, renamed)).rejects.toMatchObject({
      code: 'incompatible',
      details: { unclaimed: ['totals'], nearest: 'totals-2' },
    });
    const run = await startIn(world, counting({ uid: 'totals-2', was: 'totals' }));
    await run.finished;
    expect(await linesOf(world)).toEqual(expectedLines());
  });

  sim('T9 dropState discards the state', async (world) => {
    await firstHalf(world);
    const run = await startIn(world, counting({ uid: 'other' }), { dropState: ['totals'] });
    await run.finished;
    const fresh = expectedLines(numbers(200).slice(100));
    expect((await linesOf(world)).slice(100)).toEqual(fresh);
  });

  sim(
    'T10 a newer codec reads old entries after an automatic savepoint; an older one is refused',
    async (world) => {
      await firstHalf(world);
      const newer: Codec<number> = {
        ...numberCodec,
        version: 2,
        decode: (bytes, version) => numberCodec.decode(bytes, version),
      };
      const run = await startIn(world, counting({ codec: newer, pauseAt: 150 }));
      await read(world, run, 150);
      await run.stop();
      expect(await world.files.list('state/savepoints')).toEqual([expect.stringMatching(/^auto-/)]);
      await expect(startIn(world, counting())).rejects.toMatchObject({ code: 'too-new' });
      const text: Codec<number> = {
        id: 'text',
        version: 1,
        encode: (value) => Buffer.from(String(value)),
        decode: (bytes) => Number(Buffer.from(bytes).toString()),
      };
      await expect(startIn(world, counting({ codec: text }))).rejects.toMatchObject({
        code: 'incompatible',
      });
      const migrated = await startIn(world, counting({ codec: text, migrateFrom: [newer] }));
      await migrated.finished;
      expect(await linesOf(world)).toEqual(expectedLines());
    },
  );

  sim(
    'T10 embedded state is migrated from another codec, or does not fit in the cache',
    async (world) => {
      const text: Codec<number> = {
        id: 'text',
        version: 1,
        encode: (value) => Buffer.from(`${value}`),
        decode: (bytes) => Number(Buffer.from(bytes).toString()),
      };
      const embedded = { state: 'embedded' } as const;
      const first = await startIn(world, counting({ pauseAt: 100 }), embedded);
      await read(world, first, 100);
      await first.stop();
      const changed = { codec: text, migrateFrom: [numberCodec], uid: 'renamed', was: 'totals' };
      const small = { ...embedded, cacheBytesMax: 2_000 };
      await expect(startIn(world, counting(changed), small)).rejects.toMatchObject({
        code: 'limit-exceeded',
        message: expect.stringMatching(/Raise cacheBytesMax/),
      });
      const second = await startIn(world, counting({ ...changed, pauseAt: 150 }), embedded);
      await read(world, second, 150);
      await second.stop();
      const { migrateFrom: _, was: __, ...settled } = changed;
      const third = await startIn(world, counting(settled), embedded);
      await third.finished;
      expect(await linesOf(world)).toEqual(expectedLines());
    },
  );

  sim('changed key groups, name or backend are refused', async (world) => {
    await firstHalf(world);
    await expect(startIn(world, counting(), { keyGroups: 7 })).rejects.toMatchObject({
      code: 'incompatible',
    });
    await expect(startIn(world, counting(), { state: 'embedded' })).rejects.toMatchObject({
      code: 'incompatible',
    });
  });

  sim(
    'X41 a savepoint restores state and positions into another directory and backend',
    async (world) => {
      const run = await startIn(world, counting({ pauseAt: 100 }));
      await read(world, run, 100);
      await run.checkpoint();
      await run.savepoint('half');
      await run.stop();
      const options = {
        dir: 'state-2',
        restoreFrom: 'state/savepoints/half.snap',
        state: 'embedded',
      } as const;
      const other = counting({ dir: 'out-2' });
      await expect(startIn(world, other, options)).rejects.toMatchObject({
        code: 'invalid-argument',
      });
      const restored = await startIn(world, other, { ...options, repeats: 'accept' });
      await restored.finished;
      expect(await linesOf(world, 'out-2')).toEqual(expectedLines().slice(100));
    },
  );
});

describe('fences', () => {
  sim('T16 a copy of the directory cannot write to the same sink', async (world) => {
    const run = await startIn(world, counting({ pauseAt: 60 }));
    await read(world, run, 60);
    await run.stop();
    const original = await world.openStorage('state/db');
    const copy = await world.openStorage('copy/db');
    const batch = new StorageBatch();
    for await (const { key, value } of original.range()) batch.put(key, value);
    await copy.write(batch, { durability: 'synced' });
    await original.close();
    await copy.close();
    const first = await startIn(world, counting({ pauseAt: 80 }));
    await read(world, first, 80);
    await world.files.makeDir('copy');
    await world.files.append('copy/FORMAT', Buffer.from('syncline-streams 1\n'));
    await expect(startIn(world, counting(), { dir: 'copy' })).rejects.toMatchObject({
      code: expect.stringMatching(/fenced|out-of-step/),
    });
    await first.stop();
    expect(await linesOf(world)).toEqual(expectedLines().slice(0, 80));
  });

  sim('T16 an old copy of the store is behind its output and refused', async (world) => {
    const run = await startIn(world, counting({ pauseAt: 60 }));
    await read(world, run, 60);
    await run.stop();
    const storage = await world.openStorage('state/db');
    const old = storage.get(storeKeys.head) as Uint8Array;
    await storage.close();
    const on = await startIn(world, counting());
    await on.finished;
    const again = await world.openStorage('state/db');
    await again.write(new StorageBatch().put(storeKeys.head, old), { durability: 'synced' });
    await again.close();
    await expect(startIn(world, counting())).rejects.toMatchObject({
      code: expect.stringMatching(/out-of-step|corrupt/),
    });
  });
});

describe('sources', () => {
  const over = (
    path: string,
    options: { readonly follow?: boolean; readonly rotation?: 'rename' } = {},
  ) =>
    definePipeline('lines', (p) => {
      p.source(
        jsonlSource<number>({ uid: 'in', files: [path], batchItems: 10, pollMs: 20, ...options }),
      )
        .keyBy(() => 'k')
        .reduce({ uid: 'sum', initial: () => 0, add: (sum: number, n) => sum + n })
        .map(({ value }) => ({ n: value }))
        .to(fileSink({ uid: 'out', dir: 'out' }));
    });
  const text = (from: number, to: number) =>
    numbers(to)
      .slice(from)
      .map((n) => `${n}\n`)
      .join('');

  sim(
    'T20 X38 a truncated, rewritten or replaced file is position-lost; a rotated one is followed',
    async (world) => {
      const { files } = world;
      await files.append('in.jsonl', Buffer.from(text(0, 50)));
      const run = await startIn(world, over('in.jsonl', { follow: true, rotation: 'rename' }));
      await read(world, run, 50);
      await files.append('in.jsonl', Buffer.from(text(50, 60)));
      await read(world, run, 60);
      await files.rename('in.jsonl', 'in.jsonl.1');
      await files.append('in.jsonl.1', Buffer.from(text(60, 65)));
      await files.append('in.jsonl', Buffer.from(text(65, 80)));
      await read(world, run, 80);
      await run.stop();
      const lines = (await linesOf(world)).map((line) => JSON.parse(line).n);
      expect(lines.at(-1)).toBe(numbers(80).reduce((a, b) => a + b, 0));
      expect(lines).toHaveLength(80);
      await files.remove('in.jsonl');
      await files.append('in.jsonl', Buffer.from('1\n'));
      await expect(startIn(world, over('in.jsonl', { follow: true }))).rejects.toMatchObject({
        code: 'position-lost',
        details: { partition: 'in.jsonl' },
      });
      const accepted = await startIn(world, over('in.jsonl', { follow: true }), {
        acceptLoss: ['in.jsonl'],
      });
      await read(world, accepted, 81);
      await accepted.stop();
    },
  );
});
