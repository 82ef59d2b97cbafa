import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Decay, DecayTable, decayed } from './decay.js';

const decays: fc.Arbitrary<Decay> = fc.record({
  policy: fc.constantFrom('exponential', 'linear'),
  ratePerSecond: fc.double({ min: 0, max: 1e6, noNaN: true }),
});
const probabilities = fc.double({ min: 0, max: 1, noNaN: true });
const elapsed = fc.oneof(
  fc.integer({ min: -10, max: 10_000 }), // in the table, and beyond
  fc.double({ min: 0, max: 5_000, noNaN: true }), // not whole
  fc.constantFrom(4_095, 4_096, 2 ** 31, 2 ** 32 + 1, Number.POSITIVE_INFINITY),
);

test('F17 the table gives exactly the results of the formula', () => {
  const readings = fc.array(fc.tuple(probabilities, elapsed), { minLength: 20, maxLength: 20 });
  fc.assert(
    fc.property(decays, readings, (decay, pairs) => {
      const table = new DecayTable(decay);
      for (const [probability, elapsedMs] of pairs) {
        expect(table.decayed(probability, elapsedMs)).toBe(decayed(decay, probability, elapsedMs));
      }
    }),
  );
});
