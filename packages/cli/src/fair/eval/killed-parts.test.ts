import { expect, test } from 'vitest';
import { checkParts, describeParts, meanParts } from './killed-parts.js';

const parts = { away: { jain: 0.75, used: 1 }, after: { jain: 0.85, used: 0.8 } };

test('each policy has its own thresholds, and exponential has none for the time after the outage', () => {
  expect(checkParts(parts, { policy: 'linear', instances: 8 })).toEqual([undefined, undefined]);
  const poor = { away: { jain: 0.72, used: 1 }, after: { jain: 0.79, used: 1 } };
  expect(checkParts(poor, { policy: 'linear', instances: 8 })).toEqual([
    'J while it is down is 0.7200, below 0.73',
    'J in the 15 s after is 0.7900, below 0.8',
  ]);
  expect(checkParts(poor, { policy: 'exponential', instances: 8 })).toEqual([undefined]);
});

test('thresholds do not apply to more instances than they were set for', () => {
  expect(checkParts(parts, { policy: 'linear', instances: 9 })).toEqual([]);
});

test('a mean is computed field by field, and printed in one line', () => {
  const other = { away: { jain: 0.65, used: 0.9 }, after: { jain: 0.75, used: 1 } };
  expect(describeParts(meanParts([parts, other]))).toBe(
    'while it is down: J 0.700, used 95.0%; in the 15 s after: J 0.800, used 90.0%',
  );
});
