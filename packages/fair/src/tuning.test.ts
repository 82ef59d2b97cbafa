import { expect, test } from 'vitest';
import { fairLimits } from './limits.js';
import { shapeOf, tuneFair } from './tuning.js';

test('the formulas give what FAIR gives', () => {
  expect(tuneFair()).toEqual({ levels: 3, columns: 1000, increment: 0.04, decrement: 0.00004 });
  const many = tuneFair({ expectedFlows: 100_000, columns: 1000, tolerableFailures: 25 });
  expect(many.levels).toBe(4);
});

test('single values override the tuned ones', () => {
  const shape = shapeOf({ columns: 500 }, { levels: 5, increment: 0.1 });
  expect(shape).toEqual({ levels: 5, columns: 500, increment: 0.1, decrement: 0.00004 });
});

test.each([
  ['tuning.expectedFlows', { expectedFlows: 0.5 }],
  ['tuning.expectedFlows', { expectedFlows: Number.NaN }],
  ['tuning.expectedFlows', { expectedFlows: Number.POSITIVE_INFINITY }],
  ['tuning.columns', { columns: 1 }],
  ['tuning.columns', { columns: 10.5 }],
  ['tuning.tolerableFailures', { tolerableFailures: 1.9 }],
  ['tuning.tolerableFailures', { tolerableFailures: Number.NaN }],
  // So many flows that every cell is bad: no number of levels would do.
  ['levels', { expectedFlows: 1e15 }],
])('%s of %j is refused', (field, tuning) => {
  expect(() => shapeOf(tuning, {})).toThrow(
    expect.objectContaining({ code: 'invalid-argument', details: { field } }),
  );
});

test.each([
  ['levels', { levels: 0 }],
  ['levels', { levels: 2.5 }],
  ['columns', { columns: 1 }],
  ['increment', { increment: 1 }],
  ['increment', { increment: Number.NaN }],
  ['decrement', { decrement: 0 }],
  ['decrement', { increment: 0.1, decrement: 0.1 }],
])('%s in %j is refused', (field, overrides) => {
  expect(() => shapeOf({}, overrides)).toThrow(
    expect.objectContaining({ code: 'invalid-argument', details: { field } }),
  );
});

test('limits hold at n and n + 1', () => {
  const { levelsMax, columnsMax, cellsMax } = fairLimits;
  expect(shapeOf({}, { levels: levelsMax.value }).levels).toBe(16);
  expect(() => shapeOf({}, { levels: levelsMax.value + 1 })).toThrow('levels = 17');
  expect(shapeOf({}, { columns: columnsMax.value }).columns).toBe(65_536);
  expect(() => shapeOf({}, { columns: columnsMax.value + 1 })).toThrow('columns = 65537');
  const columns = cellsMax.value / 8;
  expect(shapeOf({}, { levels: 8, columns }).columns).toBe(columns);
  expect(() => shapeOf({}, { levels: 8, columns: columns + 1 })).toThrow(
    '262144 cells in 8 levels',
  );
});
