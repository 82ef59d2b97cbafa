import { expect, test } from 'vitest';
import { callbackSink } from '../ends/callback-sink.js';
import { memorySource } from '../ends/memory-source.js';
import { definePipeline, type KeyedStream, type PipelineBuilder } from './define.js';
import { tumbling } from './window.js';

const input = () => memorySource({ uid: 'in', partitions: { a: [1] } });
const define = (build: (p: PipelineBuilder) => void) => () => definePipeline('numbers', build);
/** As written by a program without types. */
const untyped = (value: unknown) => value as never;

const add = { initial: () => 0, add: (sum: number) => sum + 1 };

test.each<[string, (numbers: KeyedStream<number, number>) => unknown, string]>([
  [
    'map',
    (n) => n.map((x) => x, untyped({ onEror: 1 })),
    '"onEror" of map. Did you mean "onError"?',
  ],
  ['filter', (n) => n.filter(() => true, untyped({ uid: 'x' })), '"uid" of filter.'],
  [
    'process',
    (n) => n.process(untyped({ uid: 'sum', onItme() {} })),
    '"onItme" of process "sum". Did you mean "onItem"?',
  ],
  [
    'reduce',
    (n) => n.reduce({ uid: 'sum', ...add, ...{ codek: 1 } }),
    '"codek" of reduce "sum". Did you mean "codec"?',
  ],
  [
    'dedupe',
    (n) => n.dedupe(untyped({ uid: 'once', id: () => 1, keepMS: 1 })),
    '"keepMS" of dedupe "once". Did you mean "keepMs"?',
  ],
  [
    'reorder',
    (n) => n.reorder(untyped({ uid: 'order', versionkind: 'number' })),
    '"versionkind" of reorder "order". Did you mean "versionKind"?',
  ],
  [
    'window',
    (n) => n.window(tumbling({ sizeMs: 1 }), untyped({ uid: 'panes', ...add, latr: 'drop' })),
    '"latr" of window "panes". Did you mean "late"?',
  ],
  [
    'tumbling',
    () => tumbling({ sizeMs: 1, ...{ offset: 1 } }),
    '"offset" of tumbling. Did you mean "offsetMs"?',
  ],
])('%s refuses an option that it does not have', (_name, use, message) => {
  const build = (p: PipelineBuilder) => use(p.source(input()).keyBy((n) => n));
  expect(define((p) => void build(p))).toThrow(`unknown option ${message}`);
});

test('a source refuses unknown options, and a dead-letter option that is not a sink', () => {
  const source = (options: object) => define((p) => void p.source(input(), untyped(options)));
  expect(source({ onBda: 'fail' })).toThrow(
    'unknown option "onBda" of source "in". Did you mean "onBad"?',
  );
  expect(source({ onBad: 'fial' })).toThrow(
    'onBad is fial; expected a sink, or \'fail\'. Did you mean "fail"?',
  );
  const onError = untyped('drop');
  expect(define((p) => void p.source(input()).map((n) => n, { onError }))).toThrow(
    'onError is drop; expected a sink.',
  );
  expect(define((p) => p.source(input()).to(untyped(undefined)))).toThrow(
    'to is undefined; expected a sink.',
  );
});

test('a missing function is named', () => {
  const missing = define(
    (p) =>
      void p
        .source(input())
        .keyBy((n) => n)
        .process(untyped({ uid: 'sum' })),
  );
  expect(missing).toThrow('process "sum" needs onItem, which must be a function');
});

test.each<[string, (numbers: KeyedStream<number, number>) => unknown]>([
  ['process', (n) => n.process({ uid: 'sum', onItem() {} })],
  ['reduce', (n) => n.reduce({ uid: 'sum', ...add })],
  ['dedupe', (n) => n.dedupe({ uid: 'sum', id: (x) => x, keepMs: 1 })],
  [
    'reorder',
    (n) => n.reorder({ uid: 'sum', versionKind: 'number', version: (x) => x, policy: 'lww' }),
  ],
  ['window', (n) => n.window(tumbling({ sizeMs: 1 }), { uid: 'sum', late: 'drop', ...add })],
])('%s needs keyBy before it, even in a program without types', (_name, use) => {
  const without = (p: PipelineBuilder) => void use(untyped(p.source(input()).map((n) => n)));
  expect(define(without)).toThrow('operator "sum" needs keyBy before it');
  const merged = (p: PipelineBuilder) => {
    const numbers = p.source(input());
    use(untyped(numbers.keyBy((n) => n).merge(numbers)));
  };
  expect(define(merged)).toThrow('operator "sum" needs keyBy before it');
  const filtered = (p: PipelineBuilder) =>
    void use(
      untyped(
        p
          .source(input())
          .keyBy((n) => n)
          .filter(() => true),
      ),
    );
  expect(define(filtered)).not.toThrow();
});

test('a source whose records nothing takes is refused', () => {
  expect(define((p) => void p.source(input()))).toThrow(
    'source "in" is never used: no operator or sink receives its records.',
  );
});

test('every known option is accepted', () => {
  const sink = () => callbackSink({ uid: 'dead', call: async () => {} });
  const pipeline = definePipeline('numbers', (p) => {
    const dead = sink();
    p.source(input(), { onBad: dead, eventTime: (n) => n, outOfOrderMs: 1, idleAfterMs: 1 })
      .keyBy((n) => n, { onError: dead })
      .dedupe({ uid: 'once', was: 'first', id: (n) => n, keepMs: 1, onError: dead })
      .reorder({ uid: 'order', versionKind: 'number', version: (n) => n, policy: 'lww' })
      .window(tumbling({ sizeMs: 1, offsetMs: 0 }), { uid: 'panes', late: dead, ...add })
      .to(callbackSink({ uid: 'out', call: async () => {} }));
  });
  expect(pipeline.name).toBe('numbers');
});
