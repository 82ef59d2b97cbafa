import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SYMBOL_INDEX_END } from './mapping.js';
import { Sketch } from './sketch.js';
import { sketchOf, splitSet } from './testing/example-sets.js';
import { plainSymbols, symbolsOf, wordsOf } from './testing/plain-riblt.js';

const words = fc.nat({ max: 2 ** 32 - 1 });
const keys = fc.record({ k0: words, k1: words });
const sets = (maxLength: number) =>
  fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }), { maxLength });

const SYMBOLS = 100;
const key = { k0: 1, k1: 2 };

test('R4 a sketch has the symbols of the plain algorithm', () => {
  fc.assert(
    fc.property(keys, sets(40), fc.integer({ min: 1, max: 300 }), (anyKey, set, symbols) => {
      const sketch = sketchOf(anyKey, symbols, set);
      expect(symbolsOf(sketch.block())).toEqual(plainSymbols(anyKey, set, symbols));
      expect(sketch.itemsCount).toBe(set.length);
    }),
  );
});

test('R4 words may be signed or unsigned', () => {
  fc.assert(
    fc.property(sets(20), (set) => {
      const signed = new Sketch(SYMBOLS, key);
      for (const item of set) {
        const [w0, w1, w2] = wordsOf(item);
        signed.add(w0 | 0, w1 | 0, w2 | 0);
      }
      expect(signed.block()).toEqual(sketchOf(key, SYMBOLS, set).block());
    }),
  );
});

test('R4 neither the order of items nor added and removed ones matter', () => {
  fc.assert(
    fc.property(sets(40), fc.nat(), (all, cut) => {
      const kept = all.slice(0, cut % (all.length + 1));
      const gone = all.slice(kept.length);
      const sketch = sketchOf(key, SYMBOLS, [...gone, ...kept.toReversed()]);
      for (const item of gone) sketch.remove(...wordsOf(item));
      expect(sketch.block()).toEqual(sketchOf(key, SYMBOLS, kept).block());
    }),
  );
});

test('R5 subtracting a sketch is removing its items', () => {
  fc.assert(
    fc.property(sets(40), fc.tuple(fc.nat(), fc.nat()), (all, cuts) => {
      const { remote, local, onlyRemote, onlyLocal } = splitSet(all, cuts);
      const difference = sketchOf(key, SYMBOLS, remote).subtract(sketchOf(key, SYMBOLS, local));
      const plain = sketchOf(key, SYMBOLS, onlyRemote);
      for (const item of onlyLocal) plain.remove(...wordsOf(item));
      expect(difference.block()).toEqual(plain.block());
    }),
  );
});

test('R5 a sketch minus itself is empty', () => {
  fc.assert(
    fc.property(sets(40), (set) => {
      const sketch = sketchOf(key, SYMBOLS, set);
      sketch.subtract(sketch);
      expect(sketch.block()).toEqual(new Sketch(SYMBOLS, key).block());
    }),
  );
});

test('R5 a copy and its original are independent, and so are a block and its sketch', () => {
  fc.assert(
    fc.property(sets(20), sets(20), (set, more) => {
      const sketch = sketchOf(key, SYMBOLS, set);
      const copy = sketch.copy();
      const block = sketch.block();
      const before = structuredClone(block.words);
      for (const item of more) sketch.add(...wordsOf(item));
      expect(copy.block().words).toEqual(before);
      expect(block.words).toEqual(before);
      for (const item of more) copy.add(...wordsOf(item));
      expect(copy.block()).toEqual(sketch.block());
    }),
  );
});

test('R5 sketches of different sizes or keys cannot be subtracted', () => {
  const sketch = new Sketch(10, key);
  expect(() => sketch.subtract(new Sketch(11, key))).toThrow(RangeError);
  expect(() => sketch.subtract(new Sketch(10, { k0: 1, k1: 3 }))).toThrow(RangeError);
  expect(() => sketch.subtract(new Sketch(10, { k0: 0, k1: 2 }))).toThrow(RangeError);
  const highKey = new Sketch(10, { k0: -1, k1: 0 });
  expect(highKey.subtract(new Sketch(10, { k0: 0xffffffff, k1: 0 }))).toBe(highKey);
});

test('R6 the symbols of a sketch are the first ones of a larger one', () => {
  fc.assert(
    fc.property(
      sets(40),
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 0, max: 200 }),
      (set, size, more) => {
        const large = sketchOf(key, size + more, set);
        expect(large.block(0, size)).toEqual(sketchOf(key, size, set).block());
      },
    ),
  );
});

test('a sketch has at least one symbol, and a block lies within its sketch', () => {
  for (const symbols of [0, -1, 1.5, Number.NaN, SYMBOL_INDEX_END + 1]) {
    expect(() => new Sketch(symbols, key)).toThrow(RangeError);
  }
  const sketch = new Sketch(10, key);
  expect(sketch.block(9, 10).length).toBe(1);
  for (const [from, to] of [
    [0, 11],
    [5, 5],
    [6, 5],
    [-1, 5],
    [0.5, 5],
    [0, 1.5],
  ]) {
    expect(() => sketch.block(from, to)).toThrow(RangeError);
  }
});
