import { expect, test } from 'vitest';
import { setsLimits } from '../limits.js';
import { Glob, PatternMeter } from './glob.js';

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

const tooMany = `takes more than ${setsLimits.patternStepsMax.value} steps`;
const longText = Buffer.from('a'.repeat(setsLimits.memberBytesMax.value));

test.each([
  ['a tail that never comes', `*${'a'.repeat(4_000)}b`, tooMany],
  ['a class without end', `*[^${'ab'.repeat(2_000)}]`, tooMany],
  ['a plain one', '*aaab*', false],
  ['one that matches', `${'a'.repeat(4_000)}*`, true],
])('S19 %s is refused before it holds the event loop for long', (_, pattern, outcome) => {
  const glob = new Glob(Buffer.from(pattern));
  const match = () => glob.matches(longText, 0, longText.length);
  if (typeof outcome === 'string') expect(match).toThrow(outcome);
  else expect(match()).toBe(outcome);
});

test('patterns of one turn are counted together, stars too, until the next turn', () => {
  const meter = new PatternMeter();
  const [stars, other] = ['*'.repeat(4_000), 'b*'].map(
    (pattern) => new Glob(Buffer.from(pattern), meter),
  );
  const matchAll = (count: number) => {
    for (let text = 0; text < count; text += 1) stars?.matches(longText, 0, 2);
  };
  matchAll(125);
  expect(meter.isSliceUsed).toBe(false);
  matchAll(250);
  expect(meter.isSliceUsed).toBe(true);
  expect(() => matchAll(5_000)).toThrow(tooMany);
  expect(() => other?.matches(longText, 0, 1)).toThrow(tooMany);
  meter.reset();
  expect(other?.matches(longText, 0, 1)).toBe(false);
});

test('a pattern is refused above its limit', () => {
  const pattern = (length: number) => new Uint8Array(length).fill(0x5b);
  expect(new Glob(pattern(4_096)).matches(Buffer.from('a'), 0, 1)).toBe(false);
  expect(() => new Glob(pattern(4_097))).toThrow('pattern is longer than 4096 bytes: it has 4097');
});
