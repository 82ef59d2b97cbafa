import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstS0, firstS1, nextIndex, nextS0, nextS1, SYMBOL_INDEX_END } from './mapping.js';
import { plainIndexes } from './testing/plain-riblt.js';

const words = fc.nat({ max: 2 ** 32 - 1 });

function indexesOf([h0, h1]: readonly [number, number], end: number): number[] {
  const indexes: number[] = [];
  let s0 = firstS0(h0);
  let s1 = firstS1(h1);
  for (let index = 0; index < end; ) {
    indexes.push(index);
    index = nextIndex(index, s0);
    [s0, s1] = [nextS0(s0, s1), nextS1(s0, s1)];
  }
  return indexes;
}

test('R3 the published vectors', () => {
  const text = readFileSync(new URL('../testdata/items.txt', import.meta.url), 'utf8');
  const vectors = [...text.matchAll(/-> (\w+) (\w+); (.*)/g)];
  for (const [vector, h0 = '', h1 = '', indexes = ''] of vectors) {
    const hash = [Number.parseInt(h0, 16), Number.parseInt(h1, 16)] as const;
    expect(indexesOf(hash, 300).slice(0, 8).join(' '), vector).toBe(indexes);
  }
  expect(vectors).toHaveLength(4);
});

test('R3 it equals the formula, transcribed literally, up to the highest index', () => {
  fc.assert(
    fc.property(words, words, (h0, h1) => {
      const hash = (BigInt(h0) << 32n) | BigInt(h1);
      expect(indexesOf([h0, h1], SYMBOL_INDEX_END)).toEqual(plainIndexes(hash, SYMBOL_INDEX_END));
    }),
    { numRuns: 1_000 },
  );
});

test('R3 indexes start with 0 and rise, even for the hashes that leave the generator the fewest bits', () => {
  for (const hash of [
    [0, 0],
    [0, 1],
    [1, 0],
    [0xffffffff, 0xffffffff],
  ] as const) {
    const indexes = indexesOf(hash, SYMBOL_INDEX_END);
    expect(indexes[0]).toBe(0);
    expect(indexes.every((index, i) => i === 0 || index > (indexes[i - 1] ?? 0))).toBe(true);
  }
});

test('R3 symbol i is hit with a probability of about 1 / (1 + i/2)', () => {
  const symbols = 512;
  const itemsCount = 20_000;
  const hits = new Float64Array(symbols);
  for (let item = 0; item < itemsCount; item += 1) {
    const hash = [Math.imul(item, 0x9e3779b1), Math.imul(item, 0x85ebca6b) ^ 0x5bd1e995] as const;
    for (const index of indexesOf(hash, symbols)) hits[index] = (hits[index] ?? 0) + 1;
  }
  expect(hits[0]).toBe(itemsCount);
  // Single symbols deviate by a few percent, so several are taken together.
  for (let from = 1; from < symbols; from *= 2) {
    const range = Array.from({ length: from }, (_, i) => from + i).filter((i) => i < symbols);
    const expected = range.reduce((sum, i) => sum + itemsCount / (1 + i / 2), 0);
    const found = range.reduce((sum, i) => sum + (hits[i] ?? 0), 0);
    expect(found / expected, `symbols from ${from}`).toBeGreaterThan(0.93);
    expect(found / expected, `symbols from ${from}`).toBeLessThan(1.07);
  }
});
