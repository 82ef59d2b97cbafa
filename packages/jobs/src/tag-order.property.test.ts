import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareTags } from './job.js';

test('tags are ordered as the bytes of their UTF-8 are', () => {
  const text = fc.string({ unit: 'binary', maxLength: 4 });
  fc.assert(
    fc.property(text, text, (a, b) => {
      const byBytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
      expect(Math.sign(compareTags(a, b))).toBe(byBytes);
    }),
    { numRuns: 500 },
  );
});
