import { expect, test } from 'vitest';
import {
  dotKey,
  elementKey,
  elementRange,
  journalKey,
  journalNumberOf,
  readPosition,
  setKey,
  versionKey,
} from './storage-keys.js';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const position = { high: 0x01020304 | 0, low: 0x0506 };

test('keys have the layout that the format promises', () => {
  const buffer = Buffer.from('..member..');
  const key = elementKey(Buffer.from('set'), position, { buffer, start: 2, end: 8 });
  expect(hex(key)).toBe(
    `650003${hex(Buffer.from('set'))}010203040506${hex(Buffer.from('member'))}`,
  );
  expect(readPosition(key, 6)).toEqual(position);
  expect(hex(setKey(Buffer.from('set'), position))).toBe('73010203040506736574');
  expect(hex(dotKey(0xffff0001 | 0, 1, 2))).toBe('64ffff00010000000100000002');
  expect(hex(versionKey(0x00010002))).toBe('7600010002');
  expect(hex(journalKey(2 ** 32 + 5))).toBe('6a0000000100000005');
  expect(journalNumberOf(journalKey(2 ** 52))).toBe(2 ** 52);
});

test('the range of a set holds all its elements and none of another set', () => {
  const ofSet = (name: string, high: number) => {
    const buffer = Buffer.from('\xff\xff');
    return elementKey(
      Buffer.from(name, 'latin1'),
      { high, low: 0xffff },
      { buffer, start: 0, end: 2 },
    );
  };
  for (const name of ['', 'a', '\xff', 'a\xff\xff']) {
    const { from, to } = elementRange(Buffer.from(name, 'latin1'));
    const isIn = (key: Uint8Array) => Buffer.compare(from, key) <= 0 && Buffer.compare(key, to) < 0;
    expect([isIn(ofSet(name, 0)), isIn(ofSet(name, -1))]).toEqual([true, true]);
    expect([isIn(ofSet(`${name}b`, -1)), isIn(ofSet('b', -1))]).toEqual([false, false]);
  }
});

test('a range can start at a position', () => {
  const { from } = elementRange(Buffer.from('a'), position);
  expect(hex(from)).toBe('65000161010203040506');
});
