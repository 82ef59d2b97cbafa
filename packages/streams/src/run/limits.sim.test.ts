// What a run does at its limits: output that waits, checkpoints that hang, warnings, gauges.
import { type Logger, type Storage, SynclineError } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { fileSink } from '../ends/file-sink.js';
import { jsonlSource } from '../ends/jsonl-source.js';
import { memorySource } from '../ends/memory-source.js';
import type { OutboxSink, Sink } from '../ends/sink.js';
import { streamsLimits } from '../limits.js';
import type { StreamsMetrics } from '../metrics-list.js';
import { definePipeline, type Pipeline, type Stream } from '../pipeline/define.js';
import { tumbling } from '../pipeline/window.js';
import { stringCodec } from '../state/codec.js';
import { aggregate } from '../state/state-backend.js';
import { SimulatedWorkers } from '../workers/simulated-workers.js';
import { type StartDeps, type StartOptions, start } from './start.js';

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

function startIn(
  world: SimulatedBody,
  pipeline: Pipeline,
  options: StartOptions,
  deps: StartDeps = {},
) {
  const { clock, random, logger, files, openStorage } = world;
  const path = (given: string) => given;
  const ports = { clock, random, logger, files, path };
  return start(
    pipeline,
    { dir: 'state', ...options },
    { ...ports, openStorage: (at: string) => openStorage(at), ...deps },
  );
}

const sim = (name: string, body: (world: SimulatedBody) => Promise<void>) =>
  test(name, () => runInSimulation(name, body));

/** Gauges by name and uid, as they were last set. */
function gauges(): { readonly metrics: StreamsMetrics; readonly values: Map<string, number[]> } {
  const values = new Map<string, number[]>();
  const note = (name: string, value: number) => {
    values.set(name, [...(values.get(name) ?? []), value]);
  };
  const metrics: StreamsMetrics = { add: () => {}, set: note, observe: () => {} };
  return { metrics, values };
}

describe('X47 output that waits in the store', () => {
  const rowBytes = 1_000_000;
  const bigRows = (count: number, sink: OutboxSink) =>
    definePipeline('big', (p) => {
      p.source(memorySource({ uid: 'in', partitions: { a: numbers(count) }, batchItems: 1 }))
        .map((n) => `${n}`.padEnd(rowBytes))
        .to(sink);
    });

  for (const [what, more] of [
    ['up to its limit waits for the interval', 0],
    ['beyond its limit forces a checkpoint', 1],
  ] as const) {
    sim(what, async (world) => {
      const epochs = new Set<number>();
      const sink: OutboxSink = {
        kind: 'outbox',
        uid: 'out',
        contract: 'dedup-at-consumer',
        mark: async () => null,
        async deliver({ epoch }) {
          epochs.add(epoch);
          return 'committed';
        },
      };
      // The last row starts nothing: the source has ended, and the final checkpoint comes anyway.
      const fitting = Math.floor(streamsLimits.outboxBytesMax.value / (rowBytes + 32));
      const run = await startIn(world, bigRows(fitting + 2 * more, sink), {
        checkpoint: { everyMs: 600_000 },
      });
      await run.finished;
      expect(epochs.size).toBe(1 + more);
    });
  }
});

describe('X56 a target that is unreachable for ten minutes', () => {
  const STALL_MS = 600_000;
  const megabyte = 1_000_000;
  /** One limit of output in the checkpoint that cannot be delivered, and one more after it. */
  const recordsMax = 2 * Math.ceil((64 * 1024 * 1024) / megabyte);
  const records = 150;

  /** Delivers nothing until the time is over. */
  const stalling = (world: SimulatedBody, got: number[]): OutboxSink => ({
    kind: 'outbox',
    uid: 'out',
    contract: 'dedup-at-consumer',
    mark: async () => null,
    async deliver({ rows }) {
      if (world.clock.monotonicMs() < STALL_MS) throw new SynclineError('unavailable', 'down');
      got.push(...rows.map(({ value }) => Number.parseInt(value as string, 10)));
      return 'committed';
    },
  });
  const pipelines: Readonly<Record<string, (sink: OutboxSink) => Pipeline>> = {
    'output waits up to its limit': (sink) =>
      definePipeline('p', (p) => {
        p.source(memorySource({ uid: 'in', partitions: { a: numbers(records) }, batchItems: 1 }))
          .map((n) => `${n}`.padEnd(megabyte))
          .to(sink);
      }),
    'changed state waits up to its limit': (sink) =>
      definePipeline('p', (p) => {
        p.source(memorySource({ uid: 'in', partitions: { a: numbers(records) }, batchItems: 1 }))
          .keyBy((n) => n)
          .process({
            uid: 'large',
            state: { text: aggregate(stringCodec) },
            onItem(n: number, context) {
              context.state.text.update(() => `${n}`.padEnd(megabyte));
              context.emit(`${n}`);
            },
          })
          .to(sink);
      }),
  };
  for (const [what, define] of Object.entries(pipelines)) {
    sim(what, async (world) => {
      const got: number[] = [];
      const run = await startIn(world, define(stalling(world, got)), {
        checkpoint: { everyMs: 50 },
      });
      while (run.state !== 'stalled') await world.clock.sleep(10);
      await world.clock.sleep(STALL_MS - 60_000 - world.clock.monotonicMs());
      const { recordsIn, state } = run.progress();
      expect(state).toBe('stalled');
      expect(recordsIn).toBeLessThanOrEqual(recordsMax);
      await world.clock.sleep(30_000);
      expect(run.progress().recordsIn).toBe(recordsIn);
      await run.finished;
      expect(got).toEqual(numbers(records));
    });
  }
});

describe('X57 limits of one item, at the limit and one above', () => {
  const flow = (items: readonly unknown[], shape: (stream: Stream<unknown>) => Stream<unknown>) =>
    definePipeline('p', (p) => {
      const source = memorySource({ uid: 'in', partitions: { a: items } });
      const stream = p.source(source, { eventTime: () => 0, outOfOrderMs: 1e9 });
      shape(stream).to(fileSink({ uid: 'out', dir: 'out' }));
    });
  const { outputsPerItemMax, windowsPerKeyMax, dedupeIdsMax, partitionsMax } = streamsLimits;
  const { handleBytesMax, recordBytesMax } = streamsLimits;
  type Define = (count: number, world: SimulatedBody) => Pipeline | Promise<Pipeline>;
  const cases: readonly (readonly [string, number, Define])[] = [
    [
      'handleBytesMax',
      handleBytesMax.value,
      (count) =>
        definePipeline('p', (p) => {
          const sink: Sink<unknown> = {
            uid: 'out',
            contract: 'transactional',
            mark: async () => null,
            recover: async () => {},
            begin: async () => ({}),
            write: async () => {},
            prepare: async () => 'x'.repeat(count - '""'.length),
            commit: async () => 'committed',
            abort: async () => {},
          };
          p.source(memorySource({ uid: 'in', partitions: { a: [1] } })).to(sink);
        }),
    ],
    [
      'recordBytesMax',
      recordBytesMax.value,
      async (count, { files }) => {
        const file = `in-${count}.jsonl`;
        const [before, behind] = ['{"a":"', '"}\n'];
        const filler = 'x'.repeat(count - before.length - behind.length);
        await files.append(file, Buffer.from(`${before}${filler}${behind}`));
        return definePipeline('p', (p) => {
          p.source(jsonlSource({ uid: 'in', files: [file] })).to(
            fileSink({ uid: 'out', dir: 'out' }),
          );
        });
      },
    ],
    [
      'outputsPerItemMax',
      outputsPerItemMax.value,
      (count) => flow([1], (stream) => stream.flatMap(() => numbers(count))),
    ],
    [
      'windowsPerKeyMax',
      windowsPerKeyMax.value,
      (count) =>
        definePipeline('p', (p) => {
          p.source(memorySource({ uid: 'in', partitions: { a: numbers(count) } }), {
            eventTime: (n) => n,
            outOfOrderMs: 1e9,
          })
            .keyBy(() => 'k')
            .window(tumbling({ sizeMs: 1 }), {
              uid: 'w',
              late: 'drop',
              initial: () => 0,
              add: (sum: number) => sum + 1,
            })
            .to(fileSink({ uid: 'out', dir: 'out' }));
        }),
    ],
    [
      'dedupeIdsMax',
      dedupeIdsMax.value,
      (count) =>
        flow(numbers(count), (stream) =>
          stream.keyBy(() => 'k').dedupe({ uid: 'd', id: (n) => n as number, keepMs: 1e9 }),
        ),
    ],
    [
      'partitionsMax',
      partitionsMax.value,
      (count) =>
        definePipeline('p', (p) => {
          const partitions = Object.fromEntries(numbers(count).map((n) => [`p${n}`, [n]]));
          p.source(memorySource({ uid: 'in', partitions })).to(
            fileSink({ uid: 'out', dir: 'out' }),
          );
        }),
    ],
  ];
  for (const [limit, most, define] of cases) {
    sim(limit, async (world) => {
      const code = (pipeline: Pipeline, dir: string) =>
        startIn(world, pipeline, { dir })
          .then((run) => run.finished)
          .then(
            () => 'finished',
            (error: SynclineError) => error.code,
          );
      expect(await code(await define(most, world), 'fits')).toBe('finished');
      const hasFiles = (await world.files.stat('out')) !== undefined;
      for (const name of hasFiles ? await world.files.list('out') : []) {
        if (!name.startsWith('.staging')) await world.files.remove(`out/${name}`);
      }
      expect(['bad-record', 'limit-exceeded']).toContain(
        await code(await define(most + 1, world), 'over'),
      );
    });
  }
});

describe('X57 limits of a pipeline, at the limit and one above', () => {
  /** Lowers a limit that a test would take too long, or too much memory, to reach. */
  async function lowered<T>(
    name: keyof typeof streamsLimits,
    value: number,
    body: () => Promise<T>,
  ): Promise<T> {
    const limit = streamsLimits[name] as { value: number };
    const before = limit.value;
    limit.value = value;
    try {
      return await body();
    } finally {
      limit.value = before;
    }
  }
  const finished = async (starting: ReturnType<typeof start>) => (await starting).finished;
  const LOW = 100;

  sim('workersMax', async (world) => {
    const pipeline = definePipeline('p', (p) => {
      p.source(memorySource({ uid: 'in', partitions: { a: numbers(1_000) } }))
        .keyBy((n) => n)
        .reduce({ uid: 'sum', initial: () => 0, add: (sum: number, n) => sum + n })
        .to(fileSink({ uid: 'out', dir: 'out' }));
    });
    const { spawn: spawnWorkers } = new SimulatedWorkers(world, pipeline);
    const { value: most } = streamsLimits.workersMax;
    const startWith = (workers: number) => startIn(world, pipeline, { workers }, { spawnWorkers });
    await expect(startWith(most + 1)).rejects.toMatchObject({ code: 'invalid-argument' });
    await finished(startWith(most));
  });

  sim('timersMax', async (world) => {
    let fired = 0;
    const pipeline = definePipeline('p', (p) => {
      const items = numbers(LOW + 1);
      p.source(memorySource({ uid: 'in', partitions: { a: items } }), { eventTime: () => 0 })
        .keyBy((n) => n)
        .process({
          uid: 'timers',
          onError: fileSink({ uid: 'bad', dir: 'bad' }),
          onItem: (n: number, ctx) => ctx.setTimer(n + 1),
          onTimer: () => {
            fired += 1;
          },
        })
        .to(fileSink({ uid: 'out', dir: 'out' }));
    });
    await lowered('timersMax', LOW, () => finished(startIn(world, pipeline, {})));
    expect(fired).toBe(LOW);
    const [part] = (await world.files.list('bad')).filter((name) => name.startsWith('part-'));
    const letter = Buffer.from(await world.files.readAt(`bad/${part}`, 0, 1_000)).toString();
    expect(JSON.parse(letter)).toMatchObject({ position: LOW, reason: /more than 100 timers/ });
  });

  sim('timersMax does not count the timers of rejected items', async (world) => {
    let fired = 0;
    const pipeline = definePipeline('p', (p) => {
      const items = numbers(3 * LOW);
      p.source(memorySource({ uid: 'in', partitions: { a: items } }), { eventTime: () => 0 })
        .keyBy((n) => n)
        .process({
          uid: 'timers',
          onError: fileSink({ uid: 'bad', dir: 'bad' }),
          onItem(n: number, ctx) {
            ctx.setTimer(n + 1);
            if (n % 3 !== 0) throw new Error('not a multiple of three');
          },
          onTimer: () => {
            fired += 1;
          },
        })
        .to(fileSink({ uid: 'out', dir: 'out' }));
    });
    await lowered('timersMax', LOW, () => finished(startIn(world, pipeline, {})));
    expect(fired).toBe(LOW);
  });

  sim('finalTimersMax', async (world) => {
    const rescheduling = (times: number, dir: string) =>
      definePipeline('p', (p) => {
        p.source(memorySource({ uid: 'in', partitions: { a: [0] } }), { eventTime: () => 0 })
          .keyBy((n) => n)
          .process({
            uid: 'timers',
            onItem: (_: number, ctx) => ctx.setTimer(1),
            onTimer({ atMs }, ctx) {
              if (atMs < times) ctx.setTimer(atMs + 1);
            },
          })
          .to(fileSink({ uid: 'out', dir: `out/${dir}` }));
      });
    const runIn = (dir: string, times: number) =>
      finished(startIn(world, rescheduling(times, dir), { dir }));
    await lowered('finalTimersMax', LOW, async () => {
      await runIn('fits', LOW);
      await expect(runIn('over', LOW + 1)).rejects.toMatchObject({
        details: { limit: 'finalTimersMax' },
      });
    });
  });

  /** Holds back all items until the source ends. The last batch, at which it does, has none of them. */
  const held = (items: readonly unknown[], dir: string) =>
    definePipeline('p', (p) => {
      let version = 0;
      const rest = new Array<null>(streamsLimits.batchItemsMax.value).fill(null);
      p.source<unknown, number>(memorySource({ uid: 'in', partitions: { a: [...items, ...rest] } }))
        .keyBy(() => 'k')
        .reorder({
          uid: 'r',
          versionKind: 'number',
          version(item) {
            version += 1;
            return item === null ? undefined : version;
          },
          sealed: { by: () => undefined },
          late: 'drop',
        })
        .to(fileSink({ uid: 'out', dir: `out/${dir}` }));
    });
  for (const limit of ['reorderItemsMax', 'reorderBytesMax'] as const) {
    sim(limit, async (world) => {
      // Each item takes one byte.
      const runIn = (dir: string, count: number) =>
        finished(startIn(world, held(new Array<number>(count).fill(1), dir), { dir }));
      await lowered(limit, LOW, async () => {
        await runIn('fits', LOW);
        await expect(runIn('over', LOW + 1)).rejects.toMatchObject({ code: 'limit-exceeded' });
      });
    });
  }

  sim('memoryStateBytesMax', async (world) => {
    const pipeline = (dir: string) =>
      definePipeline('p', (p) => {
        p.source(memorySource({ uid: 'in', partitions: { a: numbers(1_000) } }))
          .keyBy((n) => n)
          .process({
            uid: 'keep',
            state: { text: aggregate(stringCodec) },
            onItem: (n: number, ctx) => void ctx.state.text.update(() => `value ${n}`),
          })
          .to(fileSink({ uid: 'out', dir: `out/${dir}` }));
      });
    const runIn = (dir: string, bytesMax: number) =>
      lowered('memoryStateBytesMax', bytesMax, () =>
        finished(startIn(world, pipeline(dir), { dir })),
      );
    const tooLarge = await runIn('nothing', 0).catch((error: Error) => error.message);
    const bytes = Number(/takes about (\d+) bytes/.exec(tooLarge ?? '')?.[1]);
    await runIn('fits', bytes);
    await expect(runIn('over', bytes - 1)).rejects.toMatchObject({ code: 'limit-exceeded' });
  });
});

describe('a checkpoint that is not ready in time', () => {
  sim('is abandoned and retried, and its late result changes nothing', async (world) => {
    const inner = fileSink({ uid: 'out', dir: 'out' });
    let answer = () => {};
    let calls = 0;
    const hanging = new Proxy<Sink<unknown>>(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name !== 'prepare') return value.bind(target);
        return async (txn: unknown) => {
          calls += 1;
          if (calls === 1) await new Promise<void>((resolve) => (answer = resolve));
          return await target.prepare(txn);
        };
      },
    });
    const pipeline = definePipeline('p', (p) => {
      p.source(memorySource({ uid: 'in', partitions: { a: numbers(30) }, batchItems: 10 })).to(
        hanging,
      );
    });
    const run = await startIn(world, pipeline, { checkpoint: { everyMs: 50, timeoutMs: 1_000 } });
    while (run.state !== 'stalled') await world.clock.sleep(10);
    expect(run.progress().error).toMatch(/not ready to commit after 1000 ms/);
    answer();
    await run.finished;
    const [part = ''] = (await world.files.list('out')).filter((name) => name.startsWith('part-'));
    const text = Buffer.from(await world.files.readAt(`out/${part}`, 0, 1_000)).toString();
    expect(text).toBe(numbers(30).join('\n').concat('\n'));
  });

  for (const workers of [1, 2]) {
    sim(`stores no more of its output (workers: ${workers})`, async (world) => {
      const rows = ['a', 'b', 'c', 'd'].map((row) => row.padEnd(600_000)); // two do not fit into one part
      const delivered: unknown[] = [];
      const sink: OutboxSink = {
        kind: 'outbox',
        uid: 'out',
        contract: 'dedup-at-consumer',
        mark: async () => null,
        async deliver(part) {
          delivered.push(...part.rows.map(({ value }) => value));
          return 'committed';
        },
      };
      const pipeline = definePipeline('p', (p) => {
        const beforeBatch = (_: string, index: number) =>
          index > 0 ? new Promise<void>(() => {}) : undefined;
        p.source(memorySource({ uid: 'in', partitions: { a: [0, 1] }, batchItems: 1, beforeBatch }))
          .flatMap(() => rows)
          .to(sink);
      });
      let parts = 0;
      let answer = () => {};
      const openStorage = async (at: string) =>
        new Proxy<Storage>(await world.openStorage(at), {
          get(target, name) {
            const value: unknown = Reflect.get(target, name, target);
            if (typeof value !== 'function') return value;
            if (name !== 'write') return value.bind(target);
            return async (...args: Parameters<Storage['write']>) => {
              await target.write(...args);
              const [first, ...more] = args[0].operations;
              const key = Buffer.from(first?.key ?? []).toString('latin1');
              if (first?.kind !== 'put' || more.length > 0 || !key.startsWith('box/')) return;
              parts += 1;
              if (parts === 1) await new Promise<void>((resolve) => (answer = resolve));
            };
          },
        });
      const { spawn: spawnWorkers } = new SimulatedWorkers(world, pipeline);
      const checkpoint = { everyMs: 50, everyRecords: 1, minPauseMs: 0, timeoutMs: 1_000 };
      const deps = { openStorage, spawnWorkers };
      await using run = await startIn(world, pipeline, { workers, checkpoint }, deps);
      while (run.state !== 'stalled') await world.clock.sleep(10);
      answer();
      while (delivered.length < rows.length) await world.clock.sleep(10);
      expect(delivered).toEqual(rows);
      // One of the first attempt, and all of the second but the last, which rides in the batch of the epoch.
      expect(parts).toBe(1 + rows.length - 1);
    });
  }
});

test('an idle run sleeps: it wakes about once a second', async () => {
  const idle = async (world: SimulatedBody) => {
    await world.files.append('in.jsonl', Buffer.from('1\n'));
    const pipeline = definePipeline('p', (p) => {
      const source = jsonlSource({ uid: 'in', files: ['in.jsonl'], follow: true, pollMs: 60_000 });
      p.source(source).to(fileSink({ uid: 'out', dir: 'out' }));
    });
    await using run = await startIn(world, pipeline, { checkpoint: { everyMs: 50 } });
    await world.clock.sleep(600_000);
    expect(run.progress().epoch).toBe(1);
  };
  await runInSimulation('idle', idle, { eventsMax: 6_000 });
});

describe('warnings and gauges', () => {
  function warnings(world: SimulatedBody): { readonly logger: Logger; readonly seen: string[] } {
    const seen: string[] = [];
    const logger: Logger = { ...world.logger, warn: (message) => void seen.push(message) };
    return { logger, seen };
  }

  sim('T24 a clock that goes back causes one warning', async (world) => {
    const { logger, seen } = warnings(world);
    await world.files.append('in.jsonl', Buffer.from('1\n'));
    const pipeline = definePipeline('p', (p) => {
      p.source(jsonlSource({ uid: 'in', files: ['in.jsonl'], follow: true, pollMs: 20 })).to(
        fileSink({ uid: 'out', dir: 'out' }),
      );
    });
    await using run = await startIn(world, pipeline, {}, { logger });
    await world.clock.sleep(2_000);
    world.node.clock.step(-60_000);
    await world.clock.sleep(20_000);
    expect(seen).toEqual(['wall clock jumped back; clock timers wait']);
    expect(run.state).toBe('running');
  });

  sim('checkpoints slower than their interval cause one warning', async (world) => {
    const { logger, seen } = warnings(world);
    const sink: OutboxSink = {
      kind: 'outbox',
      uid: 'out',
      contract: 'dedup-at-consumer',
      mark: async () => null,
      async deliver() {
        await world.clock.sleep(200);
        return 'committed';
      },
    };
    const pipeline = definePipeline('p', (p) => {
      p.source(memorySource({ uid: 'in', partitions: { a: numbers(50) }, batchItems: 10 })).to(
        sink,
      );
    });
    const { metrics, values } = gauges();
    const checkpoint = { everyMs: 50, everyRecords: 10, minPauseMs: 0 };
    const run = await startIn(world, pipeline, { checkpoint }, { logger, metrics });
    await run.finished;
    expect(seen).toEqual(['checkpoints take longer than their interval']);
    const uncommitted = values.get('syncline_streams_sink_uncommitted_epochs') ?? [];
    expect(uncommitted.slice(0, 4)).toEqual([1, 0, 1, 0]);
    expect(values.get('syncline_streams_outbox_bytes')?.some((bytes) => bytes > 0)).toBe(true);
  });

  for (const state of ['memory', 'embedded'] as const) {
    sim(`one key may hold more than the limit of one value (${state})`, async (world) => {
      const count = 40;
      const item = (n: number) => ({ n, text: 'x'.repeat(40_000) });
      const held = (pauseAt: number) =>
        definePipeline('p', (p) => {
          p.source(
            memorySource({
              uid: 'in',
              partitions: { a: numbers(count).map(item) },
              batchItems: 5,
              beforeBatch: (_, index) =>
                index >= pauseAt ? new Promise<void>(() => {}) : undefined,
            }),
          )
            .keyBy(() => 'hot')
            .reorder({
              uid: 'r',
              versionKind: 'number',
              version: ({ n }) => n,
              sealed: { lag: count },
              late: 'drop',
            })
            .map(({ n }) => n)
            .to(fileSink({ uid: 'out', dir: 'out' }));
        });
      const run = await startIn(world, held(35), { state });
      while (run.progress().recordsIn < 35) await world.clock.sleep(5);
      await run.checkpoint();
      await run.savepoint('full');
      await run.stop();
      const again = await startIn(world, held(count), { state });
      await again.finished;
      const lines = (await world.files.list('out')).filter((name) => name.startsWith('part-'));
      const texts = lines.map((name) => world.files.readAt(`out/${name}`, 0, 1e6));
      expect(Buffer.concat(await Promise.all(texts)).toString()).toBe(
        numbers(count).join('\n').concat('\n'),
      );
    });
  }

  sim('items that a reorder holds back are counted', async (world) => {
    const { metrics, values } = gauges();
    await world.files.append('in.jsonl', Buffer.from('5\n6\n7\n'));
    const pipeline = definePipeline('p', (p) => {
      p.source(jsonlSource<number>({ uid: 'in', files: ['in.jsonl'], follow: true }))
        .keyBy(() => 'k')
        .reorder({
          uid: 'r',
          versionKind: 'number',
          version: (n) => n,
          sealed: { lag: 1 },
          late: 'drop',
        })
        .to(fileSink({ uid: 'out', dir: 'out' }));
    });
    await using _run = await startIn(world, pipeline, {}, { metrics });
    await world.clock.sleep(2_000);
    expect(values.get('syncline_streams_reorder_items')?.at(-1)).toBe(2);
  });
});
