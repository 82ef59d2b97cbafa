import { expect, test } from 'vitest';
import { Glob } from './glob.js';

// `glob.int.test.ts` compares many more with redis-server.
const cases: readonly (readonly [pattern: string, text: string, isMatch: boolean])[] = [
  ['*', '', true],
  ['**', '', false],
  ['', '', true],
  ['', 'a', false],
  ['**', 'a', true],
  ['a*', 'a', true],
  ['*a*', 'a', true],
  ['h?llo', 'hello', true],
  ['h?llo', 'hllo', false],
  ['h*llo', 'heeeello', true],
  ['h[ae]llo', 'hallo', true],
  ['h[^e]llo', 'hello', false],
  ['h[^e]llo', 'hallo', true],
  ['h[a-b]llo', 'hbllo', true],
  ['h[b-a]llo', 'hbllo', true],
  ['[a-]', 'a', true],
  ['[a-]', '-', false],
  ['[a-', '-', true],
  ['[', 'a', false],
  ['[^', 'a', true],
  ['[]a]', 'a', false],
  ['[\\]]', ']', true],
  ['[\\', '\\', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['a\\', 'a\\', true],
  ['a*b*c', 'aXbXbXc', true],
  ['a*b*c', 'aXbXbX', false],
];

test.each(cases)('the pattern %j and the text %j: %s', (pattern, text, isMatch) => {
  expect(matches(pattern, text)).toBe(isMatch);
});

test('a pattern of many stars takes no longer than pattern × text', () => {
  const pattern = `${'a*'.repeat(2_000)}b`;
  expect(matches(pattern, 'a'.repeat(20_000))).toBe(false);
});

test('reads only the part of the buffer that it is given', () => {
  const buffer = Buffer.from('xxabyy');
  expect(new Glob(Buffer.from('a?')).matches(buffer, 2, 4)).toBe(true);
});

function matches(pattern: string, text: string): boolean {
  const bytes = Buffer.from(text, 'latin1');
  return new Glob(Buffer.from(pattern, 'latin1')).matches(bytes, 0, bytes.length);
}
