import { expect, test } from 'vitest';
import { foldDuty, foldRestMs } from './fold-pace.js';

test('folding takes little of the time while the head is small, and all of it near the limit', () => {
  expect(foldDuty(0)).toBe(0.1);
  expect(foldDuty(0.25)).toBeCloseTo(0.1);
  expect(foldDuty(0.6)).toBeGreaterThan(foldDuty(0.5));
  expect(foldDuty(0.95)).toBe(1);
  expect(foldDuty(2)).toBe(1);
});

test('it rests for the time that its duty leaves to others', () => {
  expect(foldRestMs(2, 0)).toBeCloseTo(18);
  expect(foldRestMs(2, 1)).toBe(0);
});
