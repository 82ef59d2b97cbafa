// The folds of a structure's cells, as columns, with a list of the cells that have one: whatever is done
// with them costs by those cells and not by the size of the structure. The arithmetic is that of fold.ts
// without an object per fold, since `add` is on the path of every outcome.
//
// F4  Applying a fold is applying its outcomes one by one.
// F9  A cell has at most one fold here, however many outcomes it had.
import { assert } from '@syncline/kernel';
import type { CellDeltas } from '../cells.js';

export class FoldSet {
  /** Those with a fold, in the order of their first outcome; `count` of them. */
  readonly cells: Uint32Array;
  count = 0;
  readonly #has: Uint8Array;
  readonly #amounts: Float64Array;
  readonly #lows: Float64Array;
  readonly #highs: Float64Array;

  constructor(cellsCount: number) {
    this.cells = new Uint32Array(cellsCount);
    this.#has = new Uint8Array(cellsCount);
    this.#amounts = new Float64Array(cellsCount);
    this.#lows = new Float64Array(cellsCount);
    this.#highs = new Float64Array(cellsCount);
  }

  has(cell: number): boolean {
    return this.#has[cell] === 1;
  }

  /** Hot: an outcome of the cell, after those that it has had. */
  add(cell: number, delta: number): void {
    if (this.#has[cell] === 0) {
      this.#has[cell] = 1;
      this.cells[this.count] = cell;
      this.count += 1;
      this.#amounts[cell] = delta;
      this.#lows[cell] = 0;
      this.#highs[cell] = 1;
      return;
    }
    this.#amounts[cell] = (this.#amounts[cell] ?? 0) + delta;
    this.#lows[cell] = clamp((this.#lows[cell] ?? 0) + delta);
    this.#highs[cell] = clamp((this.#highs[cell] ?? 0) + delta);
  }

  /** What the outcomes make of a probability; the same one for a cell without. */
  applied(cell: number, probability: number): number {
    if (this.#has[cell] === 0) return probability;
    const sum = probability + (this.#amounts[cell] ?? 0);
    return Math.min(this.#highs[cell] ?? 1, Math.max(this.#lows[cell] ?? 0, sum));
  }

  /**
   * Writes the fold of a cell. A bound that cannot bind, since p is in [0, 1], is written as 0 or 1 and
   * takes no bytes then: so it is with any number of outcomes of one kind.
   */
  write(cell: number, deltas: CellDeltas, index: number): void {
    const amount = this.#amounts[cell] ?? 0;
    const low = this.#lows[cell] ?? 0;
    const high = this.#highs[cell] ?? 1;
    deltas.amounts[index] = amount;
    deltas.lows[index] = low <= amount ? 0 : low;
    deltas.highs[index] = high >= 1 + amount ? 1 : high;
  }

  /** Forgets the folds of a part of the list. The list itself stays until `clear`. */
  drop(from: number, to: number): void {
    assert(from >= 0 && to <= this.count, 'F9: a part of the list of cells');
    for (let index = from; index < to; index += 1) this.#has[this.cells[index] ?? 0] = 0;
  }

  clear(): void {
    this.drop(0, this.count);
    this.count = 0;
  }
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}
