import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyFold, composeFolds, createCellDeltas, type Fold, NO_CHANGE } from '../cells.js';
import { FoldSet } from './pending-folds.js';

const deltas = fc.array(
  fc.oneof(
    fc.constantFrom(0.04, -0.000_04, 1, -1),
    fc.double({ min: -40, max: 40, noNaN: true }),
    fc.double({ min: -0.1, max: 0.1, noNaN: true }),
  ),
  { minLength: 1, maxLength: 1_000 },
);
const steps = fc.array(fc.double({ min: -0.04, max: 0.04, noNaN: true }), { maxLength: 1_000 });
const probabilities = fc.double({ min: 0, max: 1, noNaN: true });

function foldOf(sequence: readonly number[]): Fold {
  const outcomes = sequence.map((amount): Fold => ({ amount, low: 0, high: 1 }));
  return outcomes.reduce(composeFolds, NO_CHANGE);
}

function setOf(sequence: readonly number[]): FoldSet {
  const folds = new FoldSet(3);
  for (const delta of sequence) folds.add(1, delta);
  return folds;
}

function writtenBy(folds: FoldSet): Fold {
  const written = createCellDeltas(1);
  folds.write(1, written, 0);
  const [amount = 0] = written.amounts;
  const [low = 0] = written.lows;
  const [high = 1] = written.highs;
  return { amount, low, high };
}

test('F4 a fold changes a probability as its outcomes do one by one', () => {
  fc.assert(
    fc.property(steps, probabilities, (sequence, probability) => {
      const single = sequence.reduce(
        (before, amount) => applyFold({ amount, low: 0, high: 1 }, before),
        probability,
      );
      const folds = setOf(sequence);
      expect(Math.abs(folds.applied(1, probability) - single)).toBeLessThan(1e-12);
      expect(folds.applied(0, probability)).toBe(probability);
    }),
  );
});

test('F4 columns agree with objects, and exactly with what is sent', () => {
  fc.assert(
    fc.property(deltas, probabilities, (sequence, probability) => {
      const folds = setOf(sequence);
      const applied = folds.applied(1, probability);
      const expected = applyFold(foldOf(sequence), probability);
      expect(Math.abs(applied - expected)).toBeLessThan(1e-12);
      expect(applyFold(writtenBy(folds), probability)).toBe(applied);
    }),
    // A first outcome leaves the bounds of columns at 0 and 1, so they are rounded otherwise.
    { examples: [[[-0.000_04, -0.000_04, 0], 1]] },
  );
});

test('outcomes of one kind need no bounds on the wire', () => {
  for (const delta of [0.04, -0.000_04]) {
    const { low, high } = writtenBy(setOf(Array.from({ length: 50 }, () => delta)));
    expect([low, high]).toEqual([0, 1]);
  }
  expect(writtenBy(setOf([1, -0.25]))).toEqual({ amount: 0.75, low: 0, high: 0.75 });
});

test('F9 a cell is listed once, and is free again when its fold is dropped', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 50 }), (cells) => {
      const folds = new FoldSet(3);
      for (const cell of cells) folds.add(cell, 0.1);
      expect([...folds.cells.subarray(0, folds.count)]).toEqual([...new Set(cells)]);
      folds.clear();
      expect([0, 1, 2].some((cell) => folds.has(cell))).toBe(false);
    }),
  );
});
