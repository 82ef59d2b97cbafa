import { expect, test } from 'vitest';
import { formatDuration } from './duration.js';

test.each([
  [0, '0 s'],
  [999, '0 s'],
  [12_345, '12 s'],
  [60_000, '1 min'],
  [302_000, '5 min 2 s'],
  [11_520_000, '3 h 12 min'],
  [3_600_000 + 5_000, '1 h'],
  [86_400_000 * 3 + 3_600_000 * 4, '3 d 4 h'],
])('%d ms is %s', (durationMs, text) => {
  expect(formatDuration(durationMs)).toBe(text);
});
