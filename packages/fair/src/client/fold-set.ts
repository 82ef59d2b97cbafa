// The folds of a structure's cells, as columns, with a list of the cells that have one: so that every operation
// costs by those cells and not by the size of the structure. The arithmetic is that of fold.ts without an
// object per fold, since `add` is on the path of every outcome.
//
// F4  Applying a fold is applying its outcomes one by one.
// F9  A cell has at most one fold here, however many outcomes it had.
import { assert } from '@syncline/kernel';
import { type CellNumbers, createCellNumbers } from '../cell-numbers.js';
import type { CellDeltas } from '../cells.js';

/** Numbers per cell: amount, low and high. Side by side, for the processor's cache. */
const STRIDE = 3;
const LOW = 1;
const HIGH = 2;
/** In place of `high` in a cell without a fold. */
const NONE = -1;

export class FoldSet {
  /** Those with a fold, in the order of their first outcome; `count` of them. */
  readonly cells: CellNumbers;
  count = 0;
  readonly #folds: Float64Array;

  constructor(cellsCount: number) {
    this.cells = createCellNumbers(cellsCount, cellsCount);
    this.#folds = new Float64Array(STRIDE * cellsCount).fill(NONE);
  }

  has(cell: number): boolean {
    return (this.#folds[STRIDE * cell + HIGH] ?? NONE) !== NONE;
  }

  /** Hot: an outcome of the cell, after those that it has had. */
  add(cell: number, delta: number): void {
    const folds = this.#folds;
    const at = STRIDE * cell;
    if (folds[at + HIGH] === NONE) {
      this.cells[this.count] = cell;
      this.count += 1;
      folds[at] = delta;
      folds[at + LOW] = 0;
      folds[at + HIGH] = 1;
      return;
    }
    folds[at] = (folds[at] ?? 0) + delta;
    folds[at + LOW] = clamp((folds[at + LOW] ?? 0) + delta);
    folds[at + HIGH] = clamp((folds[at + HIGH] ?? 0) + delta);
  }

  /** Applies the outcomes to a probability; unchanged for a cell without any. */
  applied(cell: number, probability: number): number {
    if (!this.has(cell)) return probability;
    const folds = this.#folds;
    const at = STRIDE * cell;
    const sum = probability + (folds[at] ?? 0);
    return Math.min(folds[at + HIGH] ?? 1, Math.max(folds[at + LOW] ?? 0, sum));
  }

  /**
   * Writes the fold of a cell. A bound that has no effect, since p is in [0, 1], is written as 0 or 1 and then
   * takes no bytes. That is the case for any number of outcomes of one kind.
   */
  write(cell: number, deltas: CellDeltas, index: number): void {
    const folds = this.#folds;
    const at = STRIDE * cell;
    const amount = folds[at] ?? 0;
    const low = folds[at + LOW] ?? 0;
    const high = folds[at + HIGH] ?? 1;
    deltas.amounts[index] = amount;
    deltas.lows[index] = low <= amount ? 0 : low;
    deltas.highs[index] = high >= 1 + amount ? 1 : high;
  }

  /** Forgets the folds of a part of the list. The list itself stays until `clear`. */
  drop(from: number, to: number): void {
    assert(from >= 0 && to <= this.count, 'F9: a part of the list of cells');
    for (let index = from; index < to; index += 1) {
      this.#folds[STRIDE * (this.cells[index] ?? 0) + HIGH] = NONE;
    }
  }

  clear(): void {
    this.drop(0, this.count);
    this.count = 0;
  }
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}
