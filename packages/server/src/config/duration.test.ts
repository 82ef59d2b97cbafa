import { expect, test } from 'vitest';
import { DURATION, parseDuration } from './duration.js';

test.each([
  ['0s', 0],
  ['90s', 90_000],
  ['15min', 900_000],
  ['1h', 3_600_000],
  ['7d', 604_800_000],
  ['never', Number.POSITIVE_INFINITY],
])('%s is %d ms', (text, ms) => {
  expect(text).toMatch(DURATION);
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', '7', 'd', '7 d', '-1s', '1.5h', '1w', '7D', '1000000s', '7d '])(
  '%j is none',
  (text) => {
    expect(text).not.toMatch(DURATION);
  },
);
