import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { cursorWord, isBehindAll } from './scan-options.js';

// As strtoul reads them, which is what Redis does.
const cursors = [
  ['0', 0],
  ['', 0],
  ['-0', 0],
  ['+12', 12],
  ['0012', 12],
  ['12\0rest', 12],
  ['281474976710655', 2 ** 48 - 1],
] as const;

test.each(cursors)('the cursor %j stands for position %d', (word, position) => {
  expect(cursorOf(word)).toBe(position);
});

test.each(['-1', '281474976710656', '18446744073709551615'])(
  'the cursor %s lies behind all',
  (word) => {
    expect(isBehindAll(cursorOf(word) ?? 0)).toBe(true);
  },
);

const invalid = [' 1', '1 ', 'x', '-', '1x', '18446744073709551616', '-18446744073709551616'];

test.each([...invalid, '9'.repeat(60_000)])('%j is no cursor', (word) => {
  expect(cursorOf(word)).toBeUndefined();
});

function cursorOf(word: string): number | undefined {
  return cursorWord(ByteList.of(Buffer.from(word)), 0);
}
