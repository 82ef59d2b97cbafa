import { describe, expect, test } from 'vitest';
import { memorySource } from '../ends/memory-source.js';
import type { OutboxRow, OutboxSink } from '../ends/sink.js';
import { type StartOptions, start } from '../run/start.js';
import { type Codec, numberCodec } from '../state/codec.js';
import { jsonCodec } from '../state/json-codec.js';
import { aggregate, versioned } from '../state/state-backend.js';
import { childIndex } from './batch.js';
import { definePipeline, type PipelineBuilder } from './define.js';
import { tumbling } from './window.js';

interface Collected extends OutboxSink {
  readonly rows: OutboxRow[];
  readonly values: unknown[];
}

function collect(uid = 'out'): Collected {
  const rows: OutboxRow[] = [];
  const values: unknown[] = [];
  return {
    kind: 'outbox',
    uid,
    contract: 'dedup-at-consumer',
    rows,
    values,
    mark: async () => null,
    async deliver(part) {
      rows.push(...part.rows);
      values.push(...part.rows.map(({ value }) => value));
      return 'committed';
    },
  };
}

async function runToEnd(build: (p: PipelineBuilder) => void, options: StartOptions = {}) {
  const run = await start(definePipeline('p', build), options);
  await run.finished;
  return run;
}

const source = <T>(...items: readonly T[]) =>
  memorySource({ uid: 'in', partitions: { a: items }, batchItems: 3 });

describe('graph', () => {
  const build = (fn: (p: PipelineBuilder) => void) => () => definePipeline('p', fn);

  test('D6 uids that differ in punctuation are refused, never altered', () => {
    expect(build((p) => p.source(memorySource({ uid: 'In.1', partitions: {} })))).toThrow(
      /does not match/,
    );
    const twice = build((p) => {
      const keyed = p.source(source(1)).keyBy((n) => n);
      keyed.process({ uid: 'x', onItem() {} });
      keyed.process({ uid: 'x', onItem() {} });
    });
    expect(twice).toThrow(/used twice/);
  });

  test('a pipeline without source, a sink with two streams, and late items without a destination are refused', () => {
    expect(build(() => {})).toThrow(/no source/);
    const out = collect();
    const twoStreams = build((p) => {
      const stream = p.source(source(1));
      stream.to(out);
      stream.map((n) => n).to(out);
    });
    expect(twoStreams).toThrow(/merge them first/);
    const noLate = build((p) => {
      const keyed = p.source(source(1)).keyBy((n) => n);
      keyed.reorder({ uid: 'r', versionKind: 'number', version: (n) => n, sealed: { lag: 1 } });
    });
    expect(noLate).toThrow(/late/);
  });

  test('T18 a stream of another pipeline, which could close a cycle, is refused', () => {
    let other: unknown;
    definePipeline('q', (p) => {
      const numbers = p.source(source(1));
      numbers.map((n) => n);
      other = numbers;
    });
    expect(build((p) => p.source(source(1)).merge(other as never))).toThrow(/cycle/);
  });
});

test('X30 items that descend from one record have different indexes along every path', () => {
  const seen = new Map<number, string>();
  const visit = (index: number, path: readonly number[]) => {
    if (path.length === 3) {
      const text = path.join('.');
      expect(seen.get(index), `${text} and ${seen.get(index)}`).toBeUndefined();
      seen.set(index, text);
      return;
    }
    for (let child = 0; child < 9; child += 1) visit(childIndex(index, child), [...path, child]);
  };
  visit(0, []);
  expect(childIndex(0, 0)).toBe(0);
});

test('D1 two updates of one key at one logical time both count, and their times differ', async () => {
  const out = collect();
  await runToEnd((p) => {
    p.source(source(1, 2))
      .flatMap((n) => [n, n * 10])
      .keyBy(() => 'k')
      .process({
        uid: 'newest',
        state: {
          all: versioned(jsonCodec<number>(), 'logical-time'),
          count: aggregate(numberCodec),
        },
        onItem(item: number, ctx) {
          const result = ctx.state.all.put(item, ctx.time);
          ctx.emit([item, result, ctx.state.count.update((n = 0) => n + 1)]);
        },
      })
      .to(out);
  });
  expect(out.values).toEqual([
    [1, 'applied', 1],
    [10, 'applied', 2],
    [2, 'applied', 3],
    [20, 'applied', 4],
  ]);
  expect(new Set(out.rows.map(({ id }) => id)).size).toBe(4);
});

test('map, filter, flatMap and merge keep the order, and stable ids differ', async () => {
  const out = collect();
  await runToEnd((p) => {
    const numbers = p.source(source(1, 2, 3, 4));
    numbers
      .filter((n) => n % 2 === 0)
      .merge(numbers.map((n) => -n))
      .to(out);
  });
  expect(new Set(out.values)).toEqual(new Set([-1, -2, -3, -4, 2, 4]));
  expect(out.values).toHaveLength(6);
  expect(new Set(out.rows.map(({ id }) => id)).size).toBe(6);
});

test('reduce emits the value of the key after each item; dedupe drops repeats of an id', async () => {
  const out = collect();
  await runToEnd((p) => {
    p.source(source({ k: 'a', id: 1 }, { k: 'a', id: 1 }, { k: 'b', id: 1 }, { k: 'a', id: 2 }))
      .keyBy((item) => item.k)
      .dedupe({ uid: 'once', id: (item) => item.id, keepMs: 1_000 })
      .reduce({ uid: 'count', initial: () => 0, add: (n: number) => n + 1 })
      .to(out);
  });
  expect(out.values).toEqual([
    { key: 'a', value: 1 },
    { key: 'b', value: 1 },
    { key: 'a', value: 2 },
  ]);
});

describe('event time', () => {
  const at = (t: number, k = 'a') => ({ t, k });

  test('X31 X33 T22 windows emit once, when complete, ordered by end, key group and key; late items go to their sink', async () => {
    const [out, late] = [collect(), collect('late')];
    await runToEnd((p) => {
      p.source(source(at(1), at(5, 'b'), at(12), at(25), at(3), at(31)), {
        eventTime: (item) => item.t,
        outOfOrderMs: 5,
      })
        .keyBy((item) => item.k)
        .window(tumbling({ sizeMs: 10 }), {
          uid: 'w',
          late,
          codec: numberCodec,
          initial: () => 0,
          add: (n) => n + 1,
        })
        .to(out);
    });
    expect(late.values).toEqual([at(3)]);
    const shown = out.values.map((window) => {
      const { key, startMs, value } = window as { key: string; startMs: number; value: number };
      return `${startMs}${key}${value}`;
    });
    expect(shown.slice(2)).toEqual(['10a1', '20a1', '30a1']);
    expect(shown.slice(0, 2).sort()).toEqual(['0a1', '0b1']);
  });

  test('X32 timers fire in order when the watermark passes them, and those at the end of the input last', async () => {
    const out = collect();
    await runToEnd((p) => {
      p.source(source(at(1), at(2, 'b'), at(50), at(100, 'b')), { eventTime: (item) => item.t })
        .keyBy((item) => item.k)
        .process({
          uid: 'timers',
          onItem(item: { t: number }, ctx) {
            ctx.setTimer(item.t + 10);
            if (item.t === 50) ctx.deleteTimer(60);
          },
          onTimer({ atMs }, ctx) {
            ctx.emit(`${ctx.key}${atMs}`);
            if (atMs === 110) ctx.setTimer(1); // becomes 111
          },
        })
        .to(out);
    });
    expect(out.values).toEqual(['a11', 'b12', 'b110', 'b111']);
  });
});

describe('X34 D11 reorder', () => {
  const item = (version: number, k = 'a') => ({ version, k });

  test('sealed items leave in the order of their versions, over all partitions', async () => {
    const [out, late] = [collect(), collect('late')];
    await runToEnd((p) => {
      p.source(
        memorySource({
          uid: 'in',
          batchItems: 1,
          partitions: {
            a: [3, 1, 2, 6, 1].map((v) => item(v)),
            b: [5, 4, 7].map((v) => item(v, 'b')),
          },
        }),
      )
        .keyBy((each) => each.k)
        .reorder({
          uid: 'r',
          versionKind: 'number',
          version: (each) => each.version,
          sealed: { lag: 2 },
          late,
        })
        .to(out);
    });
    expect(out.values.map((each) => (each as { version: number }).version)).toEqual([
      1, 2, 3, 4, 5, 6, 7,
    ]);
    expect(late.values).toEqual([item(1)]);
  });

  test('an item that seals with a bad version, or cannot be encoded, only becomes a dead letter', async () => {
    interface Noted {
      readonly version: number;
      readonly seals?: number;
      readonly note?: string;
    }
    const [out, late, dead] = [collect(), collect('late'), collect('dead')];
    const json = jsonCodec<Noted>();
    const codec: Codec<Noted> = {
      id: 'noted',
      version: 1,
      encode(value) {
        if (value.note !== undefined) throw new Error('notes cannot be stored');
        return json.encode(value);
      },
      decode: (bytes, version) => json.decode(bytes, version),
    };
    const records: readonly Noted[] = [
      { version: 1 },
      { version: 2, seals: 0.5 },
      { version: 3, note: 'n' },
      { version: 4, seals: 3 },
      { version: -1, seals: 0.5 }, // only seals
      { version: 5 },
      { version: 1, seals: 0.5 }, // would be late
    ];
    await runToEnd((p) => {
      p.source(source(...records))
        .keyBy(() => 'k')
        .reorder({
          uid: 'r',
          versionKind: 'number',
          version: ({ version }) => (version < 0 ? undefined : version),
          sealed: { by: ({ seals }) => seals },
          codec,
          late,
          onError: dead,
        })
        .to(out);
    });
    expect(out.values).toEqual([records[0], records[3], records[5]]);
    expect(late.values).toEqual([]);
    expect(dead.values).toMatchObject([1, 2, 4, 6].map((position) => ({ uid: 'r', position })));
  });

  test('lww passes on what is newer and ignores the rest', async () => {
    const out = collect();
    await runToEnd((p) => {
      p.source(source(item(2), item(1), item(3), item(3)))
        .keyBy((each) => each.k)
        .reorder({
          uid: 'r',
          versionKind: 'number',
          version: (each) => each.version,
          policy: 'lww',
        })
        .to(out);
    });
    expect(out.values).toEqual([item(2), item(3)]);
  });

  test('a full buffer stops the run and names the partition that it waits for', async () => {
    const parts = { a: [item(1)], b: Array.from({ length: 50 }, (_, n) => item(n + 10, 'b')) };
    const stuck = memorySource({ uid: 'in', partitions: parts, batchItems: 4 });
    const silent = {
      ...stuck,
      async *read(partition: string, from: number | null, signal: AbortSignal) {
        if (partition === 'a')
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        else yield* stuck.read(partition, from, signal);
      },
    };
    const run = await start(
      definePipeline('p', (p) => {
        p.source(silent)
          .keyBy((each) => each.k)
          .reorder({
            uid: 'r',
            versionKind: 'number',
            version: (e) => e.version,
            sealed: { lag: 1 },
            late: 'drop',
            itemsMax: 3,
          })
          .to(collect());
      }),
      { order: 'ready' },
    );
    await expect(run.finished).rejects.toMatchObject({
      code: 'limit-exceeded',
      details: { channels: ['in/a'] },
    });
  });
});

describe('bad records', () => {
  const failing = (out: OutboxSink, dead?: OutboxSink) =>
    definePipeline('p', (p) => {
      p.source(source(1, 2, 3))
        .keyBy(() => 'k')
        .process({
          uid: 'sum',
          state: { sum: aggregate(numberCodec) },
          ...(dead !== undefined && { onError: dead }),
          onItem(n: number, ctx) {
            const sum = ctx.state.sum.update((before = 0) => before + n);
            ctx.emit(sum);
            if (n === 2) throw new Error('two is poison');
          },
        })
        .to(out);
    });

  test('T23 a poison record is skipped once, with its state and outputs undone, and goes to the dead letters', async () => {
    const [out, dead] = [collect(), collect('dead')];
    const run = await start(failing(out, dead));
    await run.finished;
    expect(out.values).toEqual([1, 4]);
    expect(dead.values).toMatchObject([
      { uid: 'sum', partition: 'in/a', position: 1, reason: 'two is poison', raw: '2' },
    ]);
  });

  test('a dead letter contains at most 64 KiB of its record, and only whole characters', async () => {
    const dead = collect('dead');
    await runToEnd((p) => {
      p.source(source('é'.repeat(50_000)))
        .map(
          () => {
            throw new Error('no');
          },
          { onError: dead },
        )
        .to(collect());
    });
    const [{ raw }] = dead.values as [{ raw: string }];
    expect(raw).toBe('é'.repeat(32_768));
  });

  test('T23 an item whose key is invalid goes to the dead letters of keyBy', async () => {
    const [out, dead] = [collect(), collect('dead')];
    const keys = [1, Number.NaN, 'k', 1.5, '\ud800', 'k'.repeat(1_025), null] as never[];
    await runToEnd((p) => {
      p.source(source(...keys))
        .keyBy((key) => key, { onError: dead })
        .process({ uid: 'stateless', onItem: (key, ctx) => ctx.emit(key) })
        .to(out);
    });
    expect(out.values).toEqual([1, 'k']);
    expect(dead.values).toMatchObject([1, 3, 4, 5, 6].map((position) => ({ position })));
  });

  test.each(['memory', 'embedded'] as const)(
    'T23 a window refuses an item whose result cannot be stored (%s)',
    async (state) => {
      const [out, dead] = [collect(), collect('dead')];
      const build = (p: PipelineBuilder) => {
        p.source(source(Number.NaN, 5, Number.NaN, 6, 14), { eventTime: (n) => n || 4 })
          .keyBy(() => 'k')
          .window(tumbling({ sizeMs: 10 }), {
            uid: 'w',
            late: 'drop',
            onError: dead,
            initial: () => ({ sum: 0 }),
            add: ({ sum }, n) => ({ sum: sum + n }),
          })
          .to(out);
      };
      await runToEnd(build, { state });
      expect(out.values).toMatchObject([{ value: { sum: 11 } }, { value: { sum: 14 } }]);
      expect(dead.values).toMatchObject([0, 2].map((position) => ({ uid: 'w', position })));
    },
  );

  test('by default it stops the run, and says where it is', async () => {
    const out = collect();
    const run = await start(failing(out));
    await expect(run.finished).rejects.toMatchObject({
      code: 'bad-record',
      message: expect.stringContaining('failed on record 2 of partition "a" of source "in"'),
      details: { uid: 'sum', partition: 'in/a', position: 1 },
    });
    expect(run.state).toBe('failed');
    expect(out.values).toEqual([]);
  });
});
