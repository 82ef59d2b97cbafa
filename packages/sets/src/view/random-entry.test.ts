import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { drawKey } from './random-entry.js';

/** Entries at given positions; a key is the index of the entry. Counts what is read. */
function sourceOf(positions: readonly number[]) {
  const indices = [...positions.keys()];
  const at = (index: number) => positions[index] ?? 0;
  const source = {
    count: positions.length,
    read: 0,
    async *keys(from: number, to: number) {
      const inRange = (index: number) => at(index) >= from && at(index) < to;
      const keys = indices.filter(inRange).map((index) => Uint8Array.of(index >> 8, index));
      source.read += keys.length;
      yield keys;
    },
  };
  return source;
}

/** Each of n equally likely outcomes: chi-square is near n, with a standard deviation of sqrt(2 n). */
async function chiSquare(positions: readonly number[], draws: number): Promise<number> {
  const random = createSeededRandom(7);
  const source = sourceOf(positions);
  const counts = positions.map(() => 0);
  for (let draw = 0; draw < draws; draw += 1) {
    const key = await drawKey(source, random);
    const index = (key[0] ?? 0) * 256 + (key[1] ?? 0);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  const expected = draws / positions.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

test('S15 every entry is as likely as any other, however unevenly they lie', async () => {
  const random = createSeededRandom(1);
  const even = Array.from({ length: 300 }, () => random.float() * 2 ** 48);
  expect(Math.abs((await chiSquare(even, 12_000)) - 299)).toBeLessThan(5 * Math.sqrt(2 * 299));
  const uneven = Array.from({ length: 120 }, () => random.float() ** 1.2 * 2 ** 48);
  expect(Math.abs((await chiSquare(uneven, 12_000)) - 119)).toBeLessThan(5 * Math.sqrt(2 * 119));
});

test('few of many entries are read for a draw', async () => {
  const random = createSeededRandom(1);
  const source = sourceOf(Array.from({ length: 10_000 }, () => random.float() * 2 ** 48));
  for (let draw = 0; draw < 20; draw += 1) await drawKey(source, random);
  expect(source.read / 20).toBeLessThan(300);
});

test('entries that all lie together are found by reading all', async () => {
  const random = createSeededRandom(1);
  const source = sourceOf(Array.from({ length: 500 }, (_, index) => index));
  const drawn = new Set<number>();
  for (let draw = 0; draw < 5; draw += 1) drawn.add((await drawKey(source, random))[1] ?? 0);
  expect(drawn.size).toBeGreaterThan(1);
});
