import { describe, expect, test } from 'vitest';
import { formatCursor, parseCursor } from './job-store.js';

describe('a cursor', () => {
  test.each([
    ['17-2', 0, false],
    ['a', 1, true],
    ['A-z-9', 2 ** 53 - 1, false],
  ])('is read as it was written: %s %d %s', (base, revision, isReplaying) => {
    expect(parseCursor(formatCursor(base, revision, isReplaying))).toEqual({
      base,
      revision,
      isReplaying,
    });
  });

  test.each([
    '',
    ':1',
    'a',
    'a:',
    'a:-1',
    'a:01',
    'a:1.5',
    'a:1~~',
    'a:1 ',
    'a b:1',
    'a:9007199254740992',
    `${'a'.repeat(129)}:1`,
  ])('J20 that is malformed is refused: %j', (text) => {
    expect(() => parseCursor(text)).toThrow(
      expect.objectContaining({ code: 'invalid-argument', details: { field: 'after' } }),
    );
  });
});
