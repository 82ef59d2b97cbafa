import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type RibltKey, ribltHash } from './item-hash.js';
import { itemsOf, plainHash } from './testing/plain-riblt.js';

const words = fc.nat({ max: 2 ** 32 - 1 });
const items = fc.tuple(words, words, words);
const keys = fc.record({ k0: words, k1: words });

function hashOf(key: RibltKey, item: ArrayLike<number>): readonly number[] {
  const out = new Uint32Array(2);
  ribltHash(key, item, out);
  return [...out];
}

test('R1 the published vectors', () => {
  const file = new URL('../testdata/items.txt', import.meta.url);
  const lines = readFileSync(file, 'utf8').split('\n');
  const vectors = lines.filter((line) => line !== '' && !line.startsWith('#'));
  for (const vector of vectors) {
    const [item = [], [k0 = 0, k1 = 0] = [], hash] = vector
      .split(/; | -> /)
      .map((part) => part.split(' ').map((word) => Number.parseInt(word, 16)));
    expect(hashOf({ k0, k1 }, item), vector).toEqual(hash);
  }
  expect(vectors).toHaveLength(4);
});

test('R1 it equals the formula, transcribed literally', () => {
  fc.assert(
    fc.property(keys, items, (key, item) => {
      const [h0 = 0, h1 = 0] = hashOf(key, item);
      const [plain] = itemsOf(item).map((each) => plainHash(key, each));
      expect((BigInt(h0) << 32n) | BigInt(h1)).toBe(plain);
    }),
    { numRuns: 1_000 },
  );
});

test('R1 words may be signed or unsigned', () => {
  fc.assert(
    fc.property(keys, items, (key, item) => {
      const signedKey = { k0: key.k0 | 0, k1: key.k1 | 0 };
      expect(hashOf(signedKey, Int32Array.from(item))).toEqual(hashOf(key, item));
    }),
  );
});

test('R2 the hash of a sum of items is not the sum of their hashes', () => {
  fc.assert(
    fc.property(keys, items, items, items, (key, a, b, c) => {
      const sum = [0, 1, 2].map((i) => ((a[i] ?? 0) ^ (b[i] ?? 0) ^ (c[i] ?? 0)) >>> 0);
      fc.pre([a, b, c].every((item) => item.some((word, i) => word !== sum[i])));
      const [hashA, hashB, hashC] = [a, b, c].map((item) => hashOf(key, item));
      const hashes = [0, 1].map(
        (i) => ((hashA?.[i] ?? 0) ^ (hashB?.[i] ?? 0) ^ (hashC?.[i] ?? 0)) >>> 0,
      );
      expect(hashOf(key, sum)).not.toEqual(hashes);
    }),
    { numRuns: 1_000 },
  );
});

test('R2 one changed bit of the item or of the key changes about half of the bits', () => {
  const item = [0x00010007, 0, 1_000];
  const key = { k0: 0x01234567, k1: 0x89abcdef };
  const before = hashOf(key, item);
  for (let bit = 0; bit < 96; bit += 1) {
    const flipped = item.map((word, i) => (i === bit >> 5 ? word ^ (1 << (bit & 31)) : word));
    expectFarApart(before, hashOf(key, flipped));
  }
  for (let bit = 0; bit < 32; bit += 1) {
    expectFarApart(before, hashOf({ ...key, k0: key.k0 ^ (1 << bit) }, item));
    expectFarApart(before, hashOf({ ...key, k1: key.k1 ^ (1 << bit) }, item));
  }
});

/** 32 of 64 bits differ on average; fewer than 10 or more than 54 has a probability of 10^-8. */
function expectFarApart(left: readonly number[], right: readonly number[]): void {
  const differing = [0, 1].map((i) => bitsOf((left[i] ?? 0) ^ (right[i] ?? 0)));
  const total = (differing[0] ?? 0) + (differing[1] ?? 0);
  expect(total).toBeGreaterThan(10);
  expect(total).toBeLessThan(54);
}

function bitsOf(word: number): number {
  return (word >>> 0).toString(2).replaceAll('0', '').length;
}
