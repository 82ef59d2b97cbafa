import { expect, test } from 'vitest';
import { randomBelow } from './random.js';
import { createSeededRandom, type SeededRandom } from './seeded-random.js';

const draws = (random: SeededRandom, count: number) =>
  Array.from({ length: count }, () => random.u32());

test('equal seeds repeat, similar seeds have nothing in common', () => {
  expect(draws(createSeededRandom(7), 50)).toEqual(draws(createSeededRandom('7'), 50));
  const seen = new Set(draws(createSeededRandom(7), 50));
  expect(draws(createSeededRandom(8), 50).filter((draw) => seen.has(draw))).toEqual([]);
});

test('a fork depends on its name and not on what was drawn before', () => {
  const fresh = createSeededRandom(1);
  const used = createSeededRandom(1);
  draws(used, 10);
  expect(draws(used.fork('disk'), 5)).toEqual(draws(fresh.fork('disk'), 5));
  expect(draws(fresh.fork('disk'), 5)).not.toEqual(draws(fresh.fork('network'), 5));
  expect(draws(fresh.fork('a').fork('b'), 5)).not.toEqual(draws(fresh.fork('b').fork('a'), 5));
});

test('the first draw differs over many seeds, and each of its bits is even', () => {
  const firsts = Array.from({ length: 4000 }, (_, seed) => createSeededRandom(seed).u32());
  expect(new Set(firsts).size).toBe(4000);
  for (let bit = 0; bit < 32; bit += 1) {
    const ones = firsts.filter((draw) => ((draw >>> bit) & 1) === 1).length;
    expect(ones).toBeGreaterThan(1850);
    expect(ones).toBeLessThan(2150);
  }
});

test('floats fill [0, 1) evenly', () => {
  const random = createSeededRandom('floats');
  const tenths = new Array<number>(10).fill(0);
  for (let count = 0; count < 10_000; count += 1) {
    const tenth = Math.floor(random.float() * 10);
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  expect(tenths.every((count) => count > 880 && count < 1120)).toBe(true);
});

test('bytes has the requested length and fills the last word too', () => {
  const random = createSeededRandom('bytes');
  expect([0, 1, 4, 7].map((count) => random.bytes(count).length)).toEqual([0, 1, 4, 7]);
  const last = Array.from({ length: 50 }, () => random.bytes(7)[6]);
  expect(new Set(last).size).toBeGreaterThan(30);
});

test('randomBelow stays below its bound and reaches each value', () => {
  const random = createSeededRandom('below');
  const seen = new Set(Array.from({ length: 200 }, () => randomBelow(random, 6)));
  expect([...seen].toSorted((left, right) => left - right)).toEqual([0, 1, 2, 3, 4, 5]);
});
