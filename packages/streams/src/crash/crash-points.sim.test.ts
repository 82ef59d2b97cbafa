// Every crash point of reference pipelines, for each kind of sink.
import { SynclineError } from '@syncline/kernel';
import { expect, inject, test } from 'vitest';
import { callbackSink, createDeduplicator } from '../ends/callback-sink.js';
import { fileSink } from '../ends/file-sink.js';
import { jsonlSource } from '../ends/jsonl-source.js';
import { memorySource } from '../ends/memory-source.js';
import type { OutboxRow } from '../ends/sink.js';
import type { Source } from '../ends/source.js';
import { memoryTarget, transactionSink } from '../ends/transaction-sink.js';
import { definePipeline } from '../pipeline/define.js';
import { tumbling } from '../pipeline/window.js';
import { numberCodec } from '../state/codec.js';
import { aggregate } from '../state/state-backend.js';
import { type CrashSubject, crashTest } from './crash-test.js';

declare module 'vitest' {
  interface ProvidedContext {
    streamsCrashStates: number;
  }
}

interface Order {
  readonly customer: string;
  readonly cents: number;
  readonly atMs: number;
}

const orders = (count: number, seed: number): readonly Order[] =>
  Array.from({ length: count }, (_, index) => ({
    customer: `c${(index * 7 + seed) % 5}`,
    cents: (index * 37) % 100,
    atMs: index * 10 + seed,
  }));

const lines = (records: readonly unknown[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** JSON lines with bad ones among them, running totals, windows, dead letters: all to part files. */
function filesSubject(): CrashSubject {
  const bad = 'not json\n';
  return {
    files: {
      'in/a.jsonl': lines(orders(40, 1)) + bad + lines(orders(10, 3)),
      'in/b.jsonl': lines(orders(30, 2)),
    },
    pipeline: definePipeline('orders', (p) => {
      const all = p.source(
        jsonlSource<Order>({ uid: 'in', files: ['in/a.jsonl', 'in/b.jsonl'], batchItems: 5 }),
        {
          onBad: fileSink({ uid: 'bad', dir: 'out/bad' }),
          eventTime: (o) => o.atMs,
          outOfOrderMs: 500,
        },
      );
      const keyed = all.keyBy((order) => order.customer);
      keyed
        .process({
          uid: 'totals',
          state: { total: aggregate(numberCodec) },
          onItem(order: Order, ctx) {
            const total = ctx.state.total.update((n = 0) => n + order.cents);
            if (order.cents % 3 === 0) ctx.setTimer(order.atMs + 50);
            ctx.emit({ customer: ctx.key, total });
          },
          onTimer({ atMs }, ctx) {
            ctx.emit({ customer: ctx.key, atMs });
          },
        })
        .to(fileSink({ uid: 'totals-out', dir: 'out/totals' }));
      // Values whose members are in random order, from windows and through a reorder: restored or not, they look the
      // same.
      keyed
        .window(tumbling({ sizeMs: 100 }), {
          uid: 'per-window',
          late: 'drop',
          initial: () => ({ orders: 0, cents: 0 }),
          add: (sum, order) => ({ orders: sum.orders + 1, cents: sum.cents + order.cents }),
        })
        .to(fileSink({ uid: 'windows-out', dir: 'out/windows' }));
      keyed
        .dedupe({ uid: 'once', id: (order) => order.atMs % 70, keepMs: 100 })
        .reorder({
          uid: 'ordered',
          versionKind: 'number',
          version: (order) => order.atMs,
          sealed: { lag: 100 },
          late: 'drop',
        })
        .to(fileSink({ uid: 'ordered-out', dir: 'out/ordered' }));
    }),
  };
}

/** Forgets what was acknowledged, as a trimmed stream does. */
function trimmingSource(partitions: Readonly<Record<string, readonly Order[]>>) {
  const whole = memorySource({ uid: 'in', batchItems: 5, partitions });
  const acked = new Map<string, number>();
  const check = async (partition: string, position: number, signal: AbortSignal) => {
    if (position < (acked.get(partition) ?? 0)) {
      throw new SynclineError('position-lost', `record ${position} of ${partition} was trimmed`);
    }
    await whole.check(partition, position, signal);
  };
  const source: Source<Order, number> = {
    ...whole,
    check,
    async *read(partition, from, signal) {
      await check(partition, from ?? 0, signal);
      yield* whole.read(partition, from, signal);
    },
    async ack(positions) {
      for (const [partition, position] of positions) acked.set(partition, position);
    },
  };
  return source;
}

/** Rows that wait in the checkpoint store, for a target with transactions and for one without a mark. */
function outboxSubject(): CrashSubject {
  const target = memoryTarget();
  const delivered: OutboxRow[] = [];
  const dedupe = createDeduplicator({});
  return {
    pipeline: definePipeline('orders', (p) => {
      const totals = p
        .source(trimmingSource({ a: orders(50, 1), b: orders(30, 2) }))
        .keyBy((order) => order.customer)
        .reduce({ uid: 'totals', initial: () => 0, add: (n: number, order) => n + order.cents });
      totals.to(transactionSink({ uid: 'table', target }));
      totals.to(
        callbackSink({
          uid: 'callback',
          call: async (rows, { epoch, first }) => {
            delivered.push(...dedupe.acceptInOrder('callback', { epoch, first }, rows));
          },
        }),
      );
    }),
    async output() {
      return {
        table: lines(target.rows.map(({ value }) => value)),
        callback: lines(delivered.map(({ value }) => value)),
      };
    },
  };
}

const statesMax = inject('streamsCrashStates');
/** All single crashes of a pipeline take some minutes. */
const TIMEOUT_MS = 1_800_000;
const options = {
  statesMax,
  chains: Math.min(Math.ceil(statesMax / 2), 1_500),
  chainCrashes: 8,
  start: { keyGroups: 4 },
};

for (const backend of ['memory', 'embedded'] as const) {
  test(
    `X40 part files, ${backend} state: a crash at any step changes no byte of the output`,
    async ({ annotate }) => {
      const start = { keyGroups: 4, state: backend };
      const report = await crashTest(filesSubject, { ...options, start });
      await annotate(JSON.stringify(report));
      expect(report.failures).toEqual([]);
      expect(report.states).toBeGreaterThanOrEqual(Math.min(statesMax, report.points));
    },
    TIMEOUT_MS,
  );
}

test(
  'X40 outbox sinks: a crash at any step loses and repeats no row',
  async ({ annotate }) => {
    const report = await crashTest(outboxSubject, options);
    await annotate(JSON.stringify(report));
    expect(report.failures).toEqual([]);
    expect(report.states).toBeGreaterThanOrEqual(Math.min(statesMax, report.points));
    expect(report.boundaries).toMatchObject({ 'source ack': expect.any(Number) });
  },
  TIMEOUT_MS,
);

test('D7 the crashed pipelines contain every stateful operator', () => {
  const stateless = ['constructor', 'map', 'filter', 'flatMap', 'merge', 'keyBy', 'to'];
  let methods: readonly string[] = [];
  definePipeline('p', (p) => {
    const stream = p.source(memorySource({ uid: 'in', partitions: {} }));
    stream.map((each) => each);
    methods = Object.getOwnPropertyNames(Object.getPrototypeOf(stream));
  });
  const stateful = methods.filter((name) => !stateless.includes(name));
  expect(stateful.sort()).toEqual(['dedupe', 'process', 'reduce', 'reorder', 'window']);
  const statesOf = ({ pipeline }: CrashSubject) =>
    pipeline
      .build()
      .nodes.flatMap(({ uid, states }) => Object.keys(states).map((name) => `${uid}/${name}`));
  expect(statesOf(filesSubject())).toEqual([
    'totals/total',
    'totals/~timers',
    'per-window/~windows',
    'once/~seen',
    'ordered/~newest',
    'ordered/~buffer',
  ]);
  expect(statesOf(outboxSubject())).toEqual(['totals/value']); // a reduce
});

test('a pipeline without output, or without an end, is refused: its test could not fail', async () => {
  const numbers = { a: [1, 2, 3] };
  const silent = () => ({
    pipeline: definePipeline('silent', (p) => {
      const sink = callbackSink({ uid: 'out', call: async () => {} });
      p.source(memorySource({ uid: 'in', partitions: numbers })).to(sink);
    }),
  });
  await expect(crashTest(silent)).rejects.toThrow(/no output to compare/);
  const endless = () => ({
    files: { '/in.jsonl': '1\n2\n' },
    pipeline: definePipeline('endless', (p) => {
      const source = jsonlSource({ uid: 'in', files: ['/in.jsonl'], follow: true, pollMs: 60_000 });
      p.source(source).to(fileSink({ uid: 'out', dir: '/out' }));
    }),
  });
  await expect(crashTest(endless)).rejects.toThrow(
    /does not finish; its sources must end \(running;/,
  );
});
