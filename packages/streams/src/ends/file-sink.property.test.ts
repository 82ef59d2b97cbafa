import { createSystemClock, type Files, silentLogger } from '@syncline/kernel';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fileSink } from './file-sink.js';
import type { Output } from './sink.js';

class Point {
  x = 1;
}

/** Values whose JSON is an object, values whose JSON is not, and text that looks like several. */
const values = fc.constantFrom<unknown>(
  {},
  { a: 1, b: 'ü' },
  { a: { b: {} }, c: undefined },
  { text: '},{' },
  { text: '}\n{"' },
  { list: [{ a: 1 }, { b: 2 }] },
  { at: new Date(0) },
  { toJSON: () => 7 },
  { toJSON: 'text' },
  Object.create({ toJSON: () => [{}, {}] }),
  new Point(),
  new Date(0),
  Object(1),
  [{}, {}],
  null,
  7,
  'text },{ text',
);
const unencodable = fc.constantFrom<unknown>({ a: 1n }, undefined, () => {});
const fence = { pipeline: 'p', generation: 1, attempt: 1, token: 't' };
const asOutput = (value: unknown) => ({ value }) as Output<unknown>;

function openSink() {
  let text = '';
  const append = (parts: readonly Uint8Array[]) => {
    text += Buffer.concat(parts).toString('utf8');
  };
  const sink = fileSink({ uid: 'out', dir: 'd' });
  sink.attach?.({
    files: { openAppend: () => ({ append }) } as unknown as Files,
    path: (path) => path,
    clock: createSystemClock(),
    logger: silentLogger,
  });
  return { sink, written: () => text };
}

test('every output is a line with its own JSON, whatever the others are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(values, { maxLength: 6 })), async (writes) => {
      const { sink, written } = openSink();
      const txn = await sink.begin(1, 0, fence);
      for (const each of writes) await sink.write(txn, each.map(asOutput));
      expect(written()).toBe(
        writes.flatMap((each) => each.map((value) => `${JSON.stringify(value)}\n`)).join(''),
      );
    }),
  );
});

test('a write with an output that has no JSON is refused as a whole', async () => {
  const outputs = fc.tuple(fc.array(values), unencodable, fc.array(values));
  await fc.assert(
    fc.asyncProperty(outputs, async ([before, bad, after]) => {
      const { sink, written } = openSink();
      const txn = await sink.begin(1, 0, fence);
      const writing = sink.write(txn, [...before, bad, ...after].map(asOutput));
      await expect(writing).rejects.toMatchObject({ code: 'bad-record' });
      expect(written()).toBe('');
    }),
  );
});
