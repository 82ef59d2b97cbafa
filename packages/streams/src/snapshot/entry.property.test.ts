import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesCodec } from '../state/codec.js';
import type { Key } from '../state/key.js';
import { aggregate, type StateDescription, versioned } from '../state/state-backend.js';
import { createSchema } from '../state/state-schema.js';
import { ByteReader } from './byte-reader.js';
import { ByteWriter } from './byte-writer.js';
import { type Entry, readEntry, writeEntry } from './entry.js';

const keys: fc.Arbitrary<Key> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.maxSafeInteger(),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
);
const values = fc.uint8Array({ maxLength: 300 });
const integers = fc.maxSafeInteger().map((n) => n + 0);
const times = fc.record({
  epoch: integers,
  round: integers,
  origin: fc.string({ unit: 'binary', maxLength: 200 }),
  index: integers,
});

const kinds: Readonly<Record<string, [StateDescription, fc.Arbitrary<unknown>]>> = {
  aggregate: [aggregate(bytesCodec), fc.constant(undefined)],
  number: [versioned(bytesCodec, 'number'), integers],
  bigint: [versioned(bytesCodec, 'bigint'), fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n })],
  'logical time': [versioned(bytesCodec, 'logical-time'), times],
};

describe.each(Object.entries(kinds))('X7 entries with version %s', (_, [description, versions]) => {
  const schema = createSchema('s', description);
  const entries: fc.Arbitrary<Entry<unknown, unknown>> = fc.record({
    key: keys,
    value: description.kind === 'aggregate' ? values : fc.option(values, { nil: undefined }),
    version: versions,
  });
  const encode = (list: readonly Entry<unknown, unknown>[]) => {
    const writer = new ByteWriter();
    for (const { key, value, version } of list) writeEntry(writer, schema, key, value, version);
    return writer.copy();
  };

  test('are read back one after another as they were written', () => {
    fc.assert(
      fc.property(fc.array(entries, { minLength: 1, maxLength: 5 }), (list) => {
        const bytes = encode(list);
        const reader = new ByteReader('entries', bytes);
        for (const { key, value, version } of list) {
          const start = reader.at;
          const read = readEntry(reader, schema);
          expect([read.key, read.value, read.version]).toEqual([key, value, version]);
          expect([read.start, read.end]).toEqual([start, reader.at]);
        }
        expect(reader.left).toBe(0);
      }),
    );
  });

  test('are corrupt wherever they are cut', () => {
    fc.assert(
      fc.property(entries, (entry) => {
        const bytes = encode([entry]);
        for (let length = 0; length < bytes.length; length += 1) {
          const reader = new ByteReader('entry', bytes.slice(0, length));
          expect(() => readEntry(reader, schema)).toThrow(
            expect.objectContaining({ code: 'corrupt' }),
          );
        }
      }),
      { numRuns: 10 },
    );
  });
});
