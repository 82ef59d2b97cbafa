import { describe, expect, test } from 'vitest';
import { printable, printableJson } from './printable.js';

describe('printable', () => {
  test('shows control characters instead of obeying them', () => {
    expect(printable('a\u001b[2Jb\u009bc')).toBe('a\\x1b[2Jb\\x9bc');
  });

  test('shows invisible characters: direction marks, line breaks, characters without width', () => {
    expect(printable('a\u202eb\u2028c\u200bd\u{e0001}')).toBe(
      'a\\u{202e}b\\u{2028}c\\u{200b}d\\u{e0001}',
    );
  });

  test('leaves letters, emoji and what joins emoji alone', () => {
    const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}';
    expect(printable(`日本語 ${family} 🔴`)).toBe(`日本語 ${family} 🔴`);
  });
});

test('JSON stays the same value, and shows nothing to a terminal', () => {
  const value = { message: 'a\u202e\u009b\u001b\u{e0001}\u2028' };
  const text = printableJson(value, 0);
  expect(text).toMatch(/^[ -~]*$/);
  expect(JSON.parse(text)).toEqual(value);
});
