// Every crash point of reference pipelines, for each kind of sink.
import { expect, inject, test } from 'vitest';
import { callbackSink, createDeduplicator } from '../ends/callback-sink.js';
import { fileSink } from '../ends/file-sink.js';
import { jsonlSource } from '../ends/jsonl-source.js';
import { memorySource } from '../ends/memory-source.js';
import type { OutboxRow } from '../ends/sink.js';
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
            ctx.emit({ customer: ctx.key, total });
          },
        })
        .to(fileSink({ uid: 'totals-out', dir: 'out/totals' }));
      keyed
        .window(tumbling({ sizeMs: 100 }), {
          uid: 'per-window',
          late: 'drop',
          codec: numberCodec,
          initial: () => 0,
          add: (n) => n + 1,
        })
        .to(fileSink({ uid: 'windows-out', dir: 'out/windows' }));
    }),
  };
}

/** Rows that wait in the checkpoint store, for a target with transactions and for one without memory. */
function outboxSubject(): CrashSubject {
  const target = memoryTarget();
  const delivered: OutboxRow[] = [];
  const dedupe = createDeduplicator({});
  return {
    pipeline: definePipeline('orders', (p) => {
      const totals = p
        .source(
          memorySource({
            uid: 'in',
            batchItems: 5,
            partitions: { a: orders(50, 1), b: orders(30, 2) },
          }),
        )
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
const options = {
  statesMax,
  chains: Math.ceil(statesMax / 2),
  chainCrashes: 8,
  start: { keyGroups: 4 },
};

for (const backend of ['memory', 'embedded'] as const) {
  test(`X40 part files, ${backend} state: a crash at any step changes no byte of the output`, async () => {
    const start = { keyGroups: 4, state: backend };
    const report = await crashTest(filesSubject, { ...options, start });
    expect(report.failures).toEqual([]);
    expect(report.states).toBeGreaterThanOrEqual(statesMax);
  });
}

test('X40 outbox sinks: a crash at any step loses and repeats no row', async () => {
  const report = await crashTest(outboxSubject, options);
  expect(report.failures).toEqual([]);
  expect(report.states).toBeGreaterThanOrEqual(statesMax);
});
