import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Decay, decayed, decayTimeMs } from './decay.js';

const decays: fc.Arbitrary<Decay> = fc.record({
  policy: fc.constantFrom('exponential', 'linear'),
  ratePerSecond: fc.double({ min: 0, max: 100, noNaN: true }),
});
const probabilities = fc.double({ min: 0, max: 1, noNaN: true });
const times = fc.double({ min: 0, max: 1e9, noNaN: true });

describe('F17 decay', () => {
  test('in two steps is decay in one', () => {
    fc.assert(
      fc.property(decays, probabilities, times, times, (decay, probability, first, second) => {
        const stepwise = decayed(decay, decayed(decay, probability, first), second);
        expect(stepwise).toBeCloseTo(decayed(decay, probability, first + second), 10);
      }),
    );
  });

  test('never rises, and never leaves [0, 1]', () => {
    fc.assert(
      fc.property(decays, probabilities, times, (decay, probability, elapsedMs) => {
        const after = decayed(decay, probability, elapsedMs);
        expect(after).toBeGreaterThanOrEqual(0);
        expect(after).toBeLessThanOrEqual(probability);
      }),
    );
  });

  test('does nothing to a cell whose time is in the future', () => {
    fc.assert(
      fc.property(decays, probabilities, times, (decay, probability, aheadMs) => {
        expect(decayed(decay, probability, -aheadMs)).toBe(probability);
      }),
    );
  });

  test('has the values of its formulas', () => {
    const exponential: Decay = { policy: 'exponential', ratePerSecond: 0.01 };
    const linear: Decay = { policy: 'linear', ratePerSecond: 0.005 };
    expect(decayed(exponential, 1, 100_000)).toBeCloseTo(Math.exp(-1), 15);
    expect(decayed(linear, 1, 100_000)).toBe(0.5);
    expect(decayed(linear, 0.1, 100_000)).toBe(0);
    expect(decayTimeMs(exponential, 1, 0.5)).toBeCloseTo(69_314.7, 1);
    expect(decayTimeMs(linear, 1, 0.5)).toBe(100_000);
    expect(decayTimeMs({ ...linear, ratePerSecond: 0 }, 1, 0.5)).toBe(Number.POSITIVE_INFINITY);
  });
});
