import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CHUNK_LENGTH, ChunkedNumbers } from './cell-grid.js';

const index = fc.oneof(
  fc.nat(10),
  fc.nat(262_143),
  fc.constantFrom(CHUNK_LENGTH - 1, CHUNK_LENGTH),
);

test('chunked numbers have the last value set, and the default where none was', () => {
  const rest = fc.constantFrom(0, Number.NEGATIVE_INFINITY);
  const steps = fc.array(fc.tuple(index, fc.double({ noNaN: true })));
  fc.assert(
    fc.property(rest, steps, index, (restValue, list, other) => {
      const numbers = new ChunkedNumbers(restValue);
      const plain = new Map<number, number>();
      for (const [at, value] of list) {
        numbers.set(at, value);
        plain.set(at, value);
        expect(numbers.isOpen(at)).toBe(true);
      }
      for (const at of [...plain.keys(), other])
        expect(numbers.at(at)).toBe(plain.get(at) ?? restValue);
    }),
  );
});

test('a list does not write into what it shares with others', () => {
  const [one, other] = [new ChunkedNumbers(), new ChunkedNumbers()];
  one.set(5_000, 1);
  expect([other.at(5_000), other.at(0), one.at(0)]).toEqual([0, 0, 0]);
  expect([one.isOpen(5_000), one.isOpen(0), other.isOpen(5_000)]).toEqual([true, false, false]);
});
