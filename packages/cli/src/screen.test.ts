import { expect, test } from 'vitest';
import { boundlessScreen, cutLines, screenOf, wrapWords } from './screen.js';

test('lines that do not fit are counted', () => {
  expect(cutLines(['a', 'b', 'c'], 3)).toEqual(['a', 'b', 'c']);
  expect(cutLines(['a', 'b', 'c'], 2)).toEqual(['a', '  … 2 more']);
  expect(cutLines(['a', 'b', 'c'], -1)).toEqual([]);
});

test('lines break between words', () => {
  expect(wrapWords('no answer for a while', 9)).toEqual(['no answer', 'for a', 'while']);
  expect(wrapWords('no answer', Number.POSITIVE_INFINITY)).toEqual(['no answer']);
});

test('output to a file is not truncated, and a terminal of unknown size counts as small', () => {
  const write = () => {};
  expect(screenOf({ write, columns: 80, rows: 24 })).toEqual(boundlessScreen);
  expect(screenOf({ write, isTTY: true, columns: 0 })).toEqual({ columns: 80, rows: 24 });
  expect(screenOf({ write, isTTY: true, columns: 120, rows: 40 })).toEqual({
    columns: 120,
    rows: 40,
  });
});
