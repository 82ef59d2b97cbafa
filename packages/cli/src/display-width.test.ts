import { expect, test } from 'vitest';
import { cutToWidth, displayWidth, padEnd, padStart } from './display-width.js';

test.each([
  ['', 0],
  ['plain', 5],
  ['\u001b[31mred\u001b[0m', 3],
  ['🟢 Started', 10],
  ['⚫ Finished', 11],
  ['🔴', 2],
  ['日本語', 6],
  ['한국', 4],
  ['ｆｕｌｌ', 8],
  ['é', 1],
  ['e\u0301', 1],
  ['👩‍👩‍👧‍👦', 2],
  ['🇩🇪', 2],
  ['❤️', 2],
  ['#1 – █▓░…', 9],
  ['1️⃣ 2', 4],
  ['x\u0301y', 2],
])('%s takes %i cells', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test('a truncated text never takes more cells than available, and never splits a character', () => {
  expect(cutToWidth('12345', 5)).toBe('12345');
  expect(cutToWidth('123456', 5)).toBe('1234…');
  expect(cutToWidth('日本語', 6)).toBe('日本語');
  expect(cutToWidth('日本語', 5)).toBe('日本…');
  expect(cutToWidth('日本語', 4)).toBe('日…');
  expect(cutToWidth('🔴 x', 2)).toBe('…');
  expect(cutToWidth('e\u0301e\u0301e\u0301', 2)).toBe('e\u0301…');
  expect(cutToWidth('abc', 1)).toBe('…');
  expect(cutToWidth('abc', 0)).toBe('');
  const text = 'a日👩‍👩‍👧‍👦e\u0301🇩🇪-한';
  for (let width = 0; width < 12; width += 1)
    expect(displayWidth(cutToWidth(text, width))).toBeLessThanOrEqual(width);
});

test('truncated text still resets its colors', () => {
  expect(cutToWidth('\u001b[31m123456\u001b[0m', 5)).toBe('\u001b[31m1234…\u001b[0m');
  expect(cutToWidth('12\u001b[31m34\u001b[0m56', 3)).toBe('12\u001b[31m…\u001b[0m');
});

test('padding counts terminal cells', () => {
  expect(padEnd('🔴', 4)).toBe('🔴  ');
  expect(padStart('日', 3)).toBe(' 日');
  expect(padStart('long', 2)).toBe('long');
});
