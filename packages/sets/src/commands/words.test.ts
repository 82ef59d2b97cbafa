import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { integerWord } from './words.js';

const integers = [
  ['0', 0],
  ['7', 7],
  ['-7', -7],
  ['9223372036854775807', 2 ** 63],
  ['-9223372036854775808', -(2 ** 63)],
] as const;

test.each(integers)('%s is an integer', (word, value) => {
  expect(integerWord(ByteList.of(Buffer.from(word)), 0)).toBe(value);
});

const others = ['', ' 1', '1 ', '+1', '-0', '007', '1.0', '1e3', '0x1', 'a', '-', '1\n'];
const tooLarge = ['9223372036854775808', '-9223372036854775809', '1'.repeat(30)];

test.each([...others, ...tooLarge])('%j is not an integer', (word) => {
  expect(integerWord(ByteList.of(Buffer.from(word)), 0)).toBeUndefined();
});
