// Times on the page come from clients, and an error would take the whole page away.
import { expect, test } from 'vitest';
import { formatDateTime, isoTime } from './format.js';

test.each([8.64e15 + 1, -1e300, Number.MAX_SAFE_INTEGER])('%s is too far away for a date', (ms) => {
  expect(formatDateTime(ms)).toBe(`${ms} ms since 1970`);
  expect(isoTime(ms)).toBeUndefined();
});

test('a time is shown in UTC', () => {
  expect(formatDateTime(1_795_127_638_133)).toBe('2026-11-19 22:33:58 UTC');
});
