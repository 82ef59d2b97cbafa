import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Glob } from './glob.js';

const words = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 });
const patterns = fc.string({
  unit: fc.constantFrom('a', 'b', 'c', '*', '?', '[', ']', '^', '-', '\\'),
  maxLength: 8,
});

test('matches as a matcher that tries every length of every star', () => {
  fc.assert(
    fc.property(patterns, words, (pattern, text) => {
      const bytes = Buffer.from(text);
      const expected = pattern === '*' || plainMatch(pattern, text);
      expect(new Glob(Buffer.from(pattern)).matches(bytes, 0, bytes.length)).toBe(expected);
    }),
    { numRuns: 5_000 },
  );
});

/** Exponential, and so simple that one can see it is right. */
function plainMatch(pattern: string, text: string): boolean {
  if (pattern === '' || text === '') return pattern === text;
  const rest = (used: number) => {
    const left = pattern.slice(used);
    return text.length === 1 ? left.replace(/^\*+/, '') === '' : plainMatch(left, text.slice(1));
  };
  switch (pattern[0]) {
    case '*': {
      const left = pattern.replace(/^\*+/, '');
      if (left === '') return true;
      return [...text].some((_, skipped) => plainMatch(left, text.slice(skipped)));
    }
    case '?':
      return rest(1);
    case '[': {
      const { accepts, used } = plainClass(pattern);
      return accepts(text.charAt(0)) && rest(used);
    }
    case '\\': {
      const literal = pattern.length > 1 ? pattern[1] : '\\';
      return text[0] === literal && rest(pattern.length > 1 ? 2 : 1);
    }
    default:
      return text[0] === pattern[0] && rest(1);
  }
}

function plainClass(pattern: string): {
  readonly accepts: (letter: string) => boolean;
  readonly used: number;
} {
  const isNegated = pattern[1] === '^';
  const ranges: (readonly [string, string])[] = [];
  let used = isNegated ? 2 : 1;
  for (; used < pattern.length; ) {
    const part = /^(?:\\(.)|(\])|(.)-(.)|(.))/.exec(pattern.slice(used)) ?? [];
    const [whole = '', escaped, close, from, to, single] = part;
    used += whole.length;
    if (close !== undefined) break;
    if (from !== undefined && to !== undefined) ranges.push(from < to ? [from, to] : [to, from]);
    const one = escaped ?? single;
    if (one !== undefined) ranges.push([one, one]);
  }
  const isInside = (letter: string) => ranges.some(([from, to]) => letter >= from && letter <= to);
  return { accepts: (letter) => isInside(letter) !== isNegated, used };
}
