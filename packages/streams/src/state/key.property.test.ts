import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { checkKey, compareKeys, type Key, keyGroupOf, keyOrder, readKey, writeKey } from './key.js';

const numbers = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -300, max: 300 }));
const bigints = fc.oneof(
  fc.bigInt({ min: 1n - 2n ** 256n, max: 2n ** 256n - 1n }),
  fc.bigInt({ min: -300n, max: 300n }),
);
const strings = fc.string({ unit: 'binary', maxLength: 20 });
const keys: fc.Arbitrary<Key> = fc.oneof(numbers, bigints, strings);

function encode(key: Key): Uint8Array {
  checkKey(key);
  const writer = new ByteWriter();
  writeKey(writer, key);
  return writer.copy();
}

describe('X1 the bytes of keys', () => {
  test('decoding undoes encoding', () => {
    fc.assert(
      fc.property(keys, (key) => {
        const bytes = encode(key);
        expect(readKey(new ByteReader('key', bytes), bytes.length)).toBe(key === 0 ? 0 : key);
      }),
    );
  });

  test('different keys have different bytes, and compareKeys is their order', () => {
    fc.assert(
      fc.property(keys, keys, (left, right) => {
        const order = Buffer.compare(encode(left), encode(right));
        expect(Math.sign(compareKeys(left, right))).toBe(order);
        expect(order === 0).toBe(left === right);
      }),
      { numRuns: 500 },
    );
  });

  test('numbers sort by value, and strings by code point', () => {
    const sorted = [
      Number.MIN_SAFE_INTEGER,
      -(2 ** 32),
      -1,
      0,
      1,
      2 ** 32,
      Number.MAX_SAFE_INTEGER,
    ];
    const shuffled = sorted.toSorted((left, right) => String(left).localeCompare(String(right)));
    expect(shuffled.sort((left, right) => Buffer.compare(encode(left), encode(right)))).toEqual(
      sorted,
    );
    expect(compareKeys('\uffff', '\u{10000}')).toBeLessThan(0);
  });

  test.each([
    ['02800000000000002a', 42],
    ['027fffffffffffffff', -1],
    ['030100', 0n],
    ['030102ffff', 65_535n],
    ['0300010a', -10n],
    ['04757365722d31', 'user-1'],
    ['04c3a9', 'é'],
  ])('%s is %s', (hex, key) => {
    expect(Buffer.from(encode(key)).toString('hex')).toBe(hex);
  });

  test.each([
    ['', 'nothing'],
    [`04${'78'.repeat(1_025)}`, 'a string that is too long'],
    ['05', 'an unknown tag'],
    ['0280000000000000', 'a number that is cut'],
    ['02800000000000002a00', 'a number with more behind it'],
    ['02ffffffffffffffff', 'a number beyond 2^53'],
    ['030201ff', 'a sign of 2'],
    ['03010100', 'a leading zero'],
    ['030000', 'a negative zero'],
    [`030121${'ff'.repeat(33)}`, 'a bigint that is too long'],
    ['04c3', 'UTF-8 that is cut'],
    ['04eda080', 'a surrogate'],
  ])('%s is refused: %s', (hex) => {
    const bytes = Buffer.from(hex, 'hex');
    expect(() => readKey(new ByteReader('key', bytes), bytes.length)).toThrow(
      expect.objectContaining({ code: 'corrupt' }),
    );
  });
});

describe('X1 the order of many keys', () => {
  const shared = fc.tuple(strings, fc.array(fc.string({ maxLength: 8 }), { maxLength: 40 }));
  const lists: fc.Arbitrary<readonly Key[]> = fc.oneof(
    fc.array(keys, { maxLength: 40 }),
    fc.array(numbers, { maxLength: 40 }),
    fc.array(bigints, { maxLength: 40 }),
    fc.array(strings, { maxLength: 40 }),
    shared.map(([start, ends]) => ends.map((end) => start + end)),
  );

  test('equals that of pairwise comparison, and is stable', () => {
    fc.assert(
      fc.property(lists, (list) => {
        const places = [...list.keys()].sort((left, right) =>
          compareKeys(list[left] as Key, list[right] as Key),
        );
        expect([...keyOrder(list)]).toEqual(places);
      }),
    );
  });
});

describe('X2 key groups', () => {
  test.each([
    ['user-1', 27],
    [42, 114],
    ['', 42],
    ['é', 120],
  ])('%j is in group %d of 128', (key, group) => {
    expect(keyGroupOf(encode(key), 128)).toBe(group);
  });

  test('groups are below their number', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 32_768 }), (key, keyGroups) => {
        expect(keyGroupOf(encode(key), keyGroups)).toBeLessThan(keyGroups);
      }),
    );
  });
});
