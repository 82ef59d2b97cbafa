import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Encoder } from './encoder.js';
import { encoderOf, isSameBlock, seededSet, sketchOf } from './testing/example-sets.js';

const words = fc.nat({ max: 2 ** 32 - 1 });
const keys = fc.record({ k0: words, k1: words });
const sets = fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }), { maxLength: 60 });
const key = { k0: 1, k1: 2 };

test('R6 an encoder gives the symbols of a sketch, however the stream is cut', () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(keys, sets, cuts, (anyKey, set, lengths) => {
      const encoder = encoderOf(anyKey, set);
      const sketch = sketchOf(anyKey, 90 * 12, set);
      for (const length of lengths) {
        const from = encoder.symbolsCount;
        expect(encoder.next(length)).toEqual(sketch.block(from, from + length));
        expect(encoder.symbolsCount).toBe(from + length);
      }
    }),
  );
});

test('R6 one symbol at a time, and far out', () => {
  const set = seededSet(1, 500);
  const sketch = sketchOf(key, 100_000, set);
  const encoder = encoderOf(key, set);
  for (let index = 0; index < 2_000; index += 1) {
    expect(isSameBlock(encoder.next(1), sketch.block(index, index + 1))).toBe(true);
  }
  expect(isSameBlock(encoder.next(90_000), sketch.block(2_000, 92_000))).toBe(true);
  expect(isSameBlock(encoder.next(8_000), sketch.block(92_000, 100_000))).toBe(true);
});

test('R6 an empty set has empty symbols', () => {
  const block = new Encoder(key).next(100);
  expect(block.itemsCount).toBe(0);
  expect(block.words.every((word) => word === 0)).toBe(true);
});

test('R9 an encoder accepts itemsMax items and not one more', () => {
  const encoder = new Encoder(key, { itemsMax: 3 });
  for (let item = 0; item < 3; item += 1) encoder.add(0, 0, item);
  const tooMany = () => encoder.add(0, 0, 3);
  expect(tooMany).toThrow(expect.objectContaining({ name: 'RibltError', code: 'limit-exceeded' }));
  expect(encoder.itemsCount).toBe(3);
  expect(encoder.next(1).itemsCount).toBe(3);
});

test('R9 the set is complete when the first symbol is taken', () => {
  const encoder = new Encoder(key);
  encoder.add(1, 2, 3);
  encoder.next(1);
  expect(() => encoder.add(4, 5, 6)).toThrow(RangeError);
  expect(encoder.next(1).itemsCount).toBe(1);
});

test('a block has at least one symbol', () => {
  const encoder = new Encoder(key);
  for (const count of [0, -1, 1.5, Number.NaN])
    expect(() => encoder.next(count)).toThrow(RangeError);
  expect(() => encoder.next(2 ** 30 + 1)).toThrow(
    expect.objectContaining({ code: 'limit-exceeded' }),
  );
});
