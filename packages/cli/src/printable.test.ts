import { describe, expect, test } from 'vitest';
import { printable, printableJson } from './printable.js';

describe('printable', () => {
  test('escapes control characters', () => {
    expect(printable('a\u001b[2Jb\u009bc')).toBe('a\\x1b[2Jb\\x9bc');
  });

  test('escapes invisible characters: direction marks, line breaks, zero-width characters', () => {
    expect(printable('a\u202eb\u2028c\u200bd\u{e0001}')).toBe(
      'a\\u{202e}b\\u{2028}c\\u{200b}d\\u{e0001}',
    );
  });

  test('leaves letters, emoji and zero-width joiners unchanged', () => {
    const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}';
    expect(printable(`日本語 ${family} 🔴`)).toBe(`日本語 ${family} 🔴`);
  });
});

test('JSON keeps its value, and contains no characters that a terminal would interpret', () => {
  const value = { message: 'a\u202e\u009b\u001b\u{e0001}\u2028' };
  const text = printableJson(value, 0);
  expect(text).toMatch(/^[ -~]*$/);
  expect(JSON.parse(text)).toEqual(value);
});
