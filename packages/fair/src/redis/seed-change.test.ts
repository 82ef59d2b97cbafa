import { expect, test } from 'vitest';
import { listCells } from '../conformance/store-samples.js';
import { packIds, packNumbers, readSeedChange } from './seed-change.js';

const text = (value: string) => Buffer.from([0xa0 | value.length, ...Buffer.from(value)]);

/** Origin `o`, change 3 of incarnation `a`, at 7 ms. */
const changeOf = (places: readonly number[], values: readonly number[]) =>
  Buffer.concat([
    text('o'),
    Buffer.from([3]),
    text('a'),
    Buffer.from([7]),
    packIds(places),
    packNumbers(values),
  ]);

const shape = { levels: 3, columns: 50 };

test('a change names its cells, row by row', () => {
  const { origin, n, incarnation, cells } = readSeedChange(
    changeOf([0, 2, 4, 5, 2, 1, 49], [0, 0.5, 1]),
    false,
    shape,
  );
  expect({ origin, n, incarnation }).toEqual({ origin: 'o', n: 3, incarnation: 'a' });
  expect(listCells(cells)).toEqual([
    { row: 0, column: 4, probability: 0, timeMs: 7 },
    { row: 0, column: 5, probability: 0.5, timeMs: 7 },
    { row: 2, column: 49, probability: 1, timeMs: 7 },
  ]);
});

test('entries that are not cells of the structure, or not probabilities, are left out, and the rest keep their places', () => {
  const places = [80_000_000, 1, 7, 1, 5, 50, 1, 2, 3, 4];
  const values = [0.1, 0.2, 0.3, 1.5, -0.1, Number.NaN];
  const foreign = readSeedChange(changeOf(places, values), false, shape);
  expect(
    listCells(foreign.cells).map(({ row, column, probability }) => [row, column, probability]),
  ).toEqual([[1, 1, 0.3]]);
  const plain = readSeedChange(changeOf(places, values), false);
  expect(plain.cells.count).toBe(3);
});
