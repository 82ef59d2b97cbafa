// Properties of the bar: it fills its width, shows every class that has a cell, and is full only at the end.
import type { Counts } from '@syncline/jobs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderBar, segmentLengths } from './progress-table.js';

const counts = fc.array(fc.nat({ max: 1_000_000 }), { minLength: 5, maxLength: 5 });

test('lengths sum to the width; a class with cells has at least one character, one without has none', () => {
  fc.assert(
    fc.property(counts, fc.integer({ min: 5, max: 200 }), (given, width) => {
      const lengths = segmentLengths(given, width);
      expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(width);
      if (given.every((count) => count === 0)) return;
      for (const [at, count] of given.entries()) {
        expect((lengths[at] ?? 0) > 0).toBe(count > 0);
      }
    }),
  );
});

test('the error of a segment is bounded by the minimum lengths of the small ones', () => {
  fc.assert(
    fc.property(counts, fc.integer({ min: 5, max: 200 }), (given, width) => {
      const total = given.reduce((sum, count) => sum + count, 0);
      fc.pre(total > 0);
      for (const [at, length] of segmentLengths(given, width).entries()) {
        expect(Math.abs(length - ((given[at] ?? 0) * width) / total)).toBeLessThan(5);
      }
    }),
  );
});

test('partial progress counts towards the first segment', () => {
  const bar = (cells: Partial<Counts>, percent: number) => {
    const none = { notStarted: 0, running: 0, finished: 0, warned: 0, failed: 0, total: 0 };
    return renderBar({ cells: { ...none, ...cells }, percent }, 10, (_, text) => text);
  };
  expect(bar({ running: 1 }, 40)).toBe('████▓▓▓▓▓▓');
  expect(bar({ finished: 1, running: 1 }, 70)).toBe('███████▓▓▓');
  expect(bar({ finished: 1, running: 1 }, 99.9)).toBe('█████████▓');
  expect(bar({ running: 1, notStarted: 1 }, 0)).toBe('▓▓▓▓▓░░░░░');
});

test('examples', () => {
  expect(segmentLengths([1, 1, 0, 0, 2], 8)).toEqual([2, 2, 0, 0, 4]);
  expect(segmentLengths([999, 0, 0, 1, 0], 10)).toEqual([9, 0, 0, 1, 0]);
  expect(segmentLengths([0, 0, 0, 0, 0], 10)).toEqual([0, 0, 0, 0, 10]);
});
