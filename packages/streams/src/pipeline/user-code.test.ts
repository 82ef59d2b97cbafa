// Functions of the user that return or throw what they should not.
import { expect, test } from 'vitest';
import { callbackSink } from '../ends/callback-sink.js';
import { memorySource } from '../ends/memory-source.js';
import type { OutboxRow } from '../ends/sink.js';
import { start } from '../run/start.js';
import { jsonCodec } from '../state/json-codec.js';
import { aggregate } from '../state/state-backend.js';
import { definePipeline, type PipelineBuilder } from './define.js';

function collect(uid: string) {
  const values: unknown[] = [];
  const call = async (rows: readonly OutboxRow[]) => {
    values.push(...rows.map(({ value }) => value));
  };
  return { values, sink: callbackSink({ uid, call }) };
}

async function run(build: (p: PipelineBuilder) => void): Promise<void> {
  const started = await start(definePipeline('p', build));
  await started.finished;
}

const numbers = (...items: readonly number[]) =>
  memorySource({ uid: 'in', partitions: { a: items } });
const boom = async (): Promise<never> => {
  throw new Error('boom');
};
/** As a program in JavaScript may pass it. */
const untyped: () => unknown = boom;
const promise = { code: 'bad-record', message: expect.stringContaining('returned a promise') };

test('an operator whose function returns a promise is refused', async () => {
  const builds: readonly ((p: PipelineBuilder) => void)[] = [
    (p) => p.source(numbers(1)).map(boom).to(collect('out').sink),
    (p) =>
      p
        .source(numbers(1))
        .filter(boom as never)
        .to(collect('out').sink),
    (p) =>
      p
        .source(numbers(1))
        .flatMap(boom as never)
        .to(collect('out').sink),
    (p) =>
      p
        .source(numbers(1))
        .flatMap((n) => [n].map(boom))
        .to(collect('out').sink),
    (p) =>
      p
        .source(numbers(1))
        .keyBy(boom as never)
        .to(collect('out').sink),
    (p) => p.source(numbers(1), { eventTime: boom as never }).to(collect('out').sink),
    (p) => {
      const keyed = p.source(numbers(1)).keyBy(() => 'k');
      keyed.process({ uid: 'x', onItem: (_, context) => context.emit(boom()) });
    },
    (p) => {
      const keyed = p.source(numbers(1)).keyBy(() => 'k');
      keyed.process({
        uid: 'x',
        onItem: (_, context) => context.setTimer(1),
        onTimer: untyped,
      });
    },
  ];
  for (const build of builds)
    await expect(run(build), String(build)).rejects.toMatchObject(promise);
});

test('what an async onItem did before it returned is undone, and its rejection ends nothing', async () => {
  const [out, dead] = [collect('out'), collect('dead')];
  await run((p) => {
    p.source(numbers(1, 2, 3))
      .keyBy(() => 'k')
      .process({
        uid: 'sum',
        state: { sum: aggregate(jsonCodec<number>()) },
        onError: dead.sink,
        onItem(n: number, context) {
          context.emit(context.state.sum.update((sum = 0) => sum + n));
          return (n === 2 ? boom() : undefined) as never;
        },
      })
      .to(out.sink);
  });
  expect(out.values).toEqual([1, 4]);
  expect(dead.values).toMatchObject([{ uid: 'sum', position: 1, raw: '2' }]);
});

test.each([[null], [undefined], [{}], [true], [1.5]])('keyBy refuses %j', async (key) => {
  const [out, dead] = [collect('out'), collect('dead')];
  await run((p) => {
    p.source(numbers(1, 2))
      .keyBy((n) => (n === 1 ? (key as never) : 'k'), { onError: dead.sink })
      .process({ uid: 'x', onItem: (n, context) => context.emit(n) })
      .to(out.sink);
  });
  expect(out.values).toEqual([2]);
  expect(dead.values).toMatchObject([{ uid: 'keyBy#1', position: 0, raw: '1' }]);
});

test('X35 a record without a valid event time is a bad record, with its position', async () => {
  const records = [{ at: 10 }, null, { at: '11' }, { at: 12 }];
  const source = memorySource<{ at: number } | null>({
    uid: 'in',
    partitions: { a: records as { at: number }[] },
  });
  const eventTime = (item: { at: number } | null) => (item as { at: number }).at;
  const [out, dead] = [collect('out'), collect('dead')];
  await run((p) => {
    p.source(source, { eventTime, onBad: dead.sink }).to(out.sink);
  });
  expect(out.values).toEqual([{ at: 10 }, { at: 12 }]);
  expect(dead.values).toMatchObject([
    { uid: 'in', position: 1, raw: 'null' },
    { uid: 'in', position: 2, raw: '{"at":"11"}', reason: expect.stringContaining('returned 11') },
  ]);
  const failing = run((p) => p.source(source, { eventTime }).to(collect('out').sink));
  await expect(failing).rejects.toMatchObject({
    code: 'bad-record',
    details: { uid: 'in', partition: 'a', position: 1 },
  });
});
