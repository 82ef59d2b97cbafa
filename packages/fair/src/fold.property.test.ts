import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyFold, composeFolds, type Fold, NO_CHANGE } from './cells.js';

const probabilities = fc.double({ min: 0, max: 1, noNaN: true });
const outcomes = fc.record({
  amount: fc.oneof(
    fc.double({ min: -1.5, max: 1.5, noNaN: true }),
    fc.constantFrom(0.04, -0.00004),
  ),
  low: fc.constant(0),
  high: fc.constant(1),
});
const folds: fc.Arbitrary<Fold> = fc
  .tuple(fc.double({ min: -2, max: 2, noNaN: true }), probabilities, probabilities)
  .map(([amount, one, other]) => ({
    amount,
    low: Math.min(one, other),
    high: Math.max(one, other),
  }));

describe('F4 folds', () => {
  test('applying a fold equals applying its outcomes one by one', () => {
    const many = fc.array(outcomes, { minLength: 1, maxLength: 1_000, size: 'max' });
    fc.assert(
      fc.property(many, probabilities, (list, start) => {
        const oneByOne = list.reduce((probability, fold) => applyFold(fold, probability), start);
        const composed = list.reduce(composeFolds, NO_CHANGE);
        expect(Math.abs(applyFold(composed, start) - oneByOne)).toBeLessThanOrEqual(1e-12);
      }),
    );
  });

  test('folds of folds are folds, however they are grouped', () => {
    fc.assert(
      fc.property(folds, folds, folds, probabilities, (first, second, third, start) => {
        const left = composeFolds(composeFolds(first, second), third);
        const right = composeFolds(first, composeFolds(second, third));
        const plain = applyFold(third, applyFold(second, applyFold(first, start)));
        expect(applyFold(left, start)).toBeCloseTo(plain, 12);
        expect(applyFold(right, start)).toBeCloseTo(plain, 12);
        expect(left.low).toBeLessThanOrEqual(left.high);
      }),
    );
  });

  test('25 failures and then 25 recoveries of the same size, from 1, end at 0', () => {
    const list = [...Array(25).fill(0.04), ...Array(25).fill(-0.04)] as number[];
    const composed = list
      .map((amount): Fold => ({ amount, low: 0, high: 1 }))
      .reduce(composeFolds, NO_CHANGE);
    expect(applyFold(composed, 1)).toBeCloseTo(0, 12);
    expect(composed.amount).toBeCloseTo(0, 12); // a sum would have changed nothing
  });
});
