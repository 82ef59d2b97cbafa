// Outcomes of one structure that the service has not acknowledged: per cell a fold that is in flight and
// one that is not sent yet. Taking a round swaps the two sets, so it copies nothing.
//
// The service's latest value is kept as well, because a round may arrive in several messages, with the
// acknowledgement in the last. A value in an earlier one already includes what is in flight, which we cannot
// know yet, so in-flight folds are applied to it; the acknowledgement removes them again. If the stream is lost
// before that, it is unknown whether the value included them, so our own earlier value is kept as well.
//
// F9  At most two folds per cell, so at most 2 · levels · columns pending cells in two structures.
import { assert } from '@syncline/kernel';
import { type CellDeltas, type CellNumbers, createCellNumbers } from '../cells.js';

// The folds of a structure's cells, as columns, with a list of the cells that have one: so that every operation
// costs by those cells and not by the size of the structure. The arithmetic is that of `Fold` without an
// object per fold, since `add` is on the path of every outcome.
//
// F4  Applying a fold is applying its outcomes one by one.
// F9  A cell has at most one fold here, however many outcomes it had.

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

export class PendingFolds {
  #unsent: FoldSet;
  #inFlight: FoldSet;
  /** The latest value of a cell from the service; 0 if there was none. */
  readonly #serverProbabilities: Float64Array;
  /** Monotonic ms; NaN if none arrived since the cell's round was taken. */
  readonly #serverTimesMs: Float64Array;
  /** Of cells in flight: our value when the round was taken, including its fold. */
  readonly ownProbabilities: Float64Array;

  constructor(cellsCount: number) {
    this.#unsent = new FoldSet(cellsCount);
    this.#inFlight = new FoldSet(cellsCount);
    this.#serverProbabilities = new Float64Array(cellsCount);
    this.#serverTimesMs = new Float64Array(cellsCount).fill(Number.NaN);
    this.ownProbabilities = new Float64Array(cellsCount);
  }

  /** Read only. */
  get unsent(): FoldSet {
    return this.#unsent;
  }

  get inFlight(): FoldSet {
    return this.#inFlight;
  }

  /** Hot: an outcome. */
  add(cell: number, delta: number): void {
    this.#unsent.add(cell, delta);
  }

  /** Cells with any fold. */
  countCells(): number {
    let count = this.#unsent.count;
    for (let index = 0; index < this.#inFlight.count; index += 1) {
      const cell = this.#inFlight.cells[index] ?? 0;
      if (this.#inFlight.has(cell) && !this.#unsent.has(cell)) count += 1;
    }
    return count;
  }

  /** Moves the unsent folds in flight. */
  take(): FoldSet {
    assert(this.#inFlight.count === 0, 'one round is in flight at a time');
    [this.#unsent, this.#inFlight] = [this.#inFlight, this.#unsent];
    this.forgetServerTimes();
    return this.#inFlight;
  }

  /** On a new stream an acknowledgement does not apply to values from before. */
  forgetServerTimes(): void {
    const { cells, count } = this.#inFlight;
    for (let index = 0; index < count; index += 1)
      this.#serverTimesMs[cells[index] ?? 0] = Number.NaN;
  }

  /** Records a value of a cell from the service, and returns the resulting view. */
  rebase(cell: number, probability: number, nowMs: number): number {
    this.recordServerValue(cell, probability, nowMs);
    return this.#unsent.applied(cell, this.#inFlight.applied(cell, probability));
  }

  /** Only records it. */
  recordServerValue(cell: number, probability: number, nowMs: number): void {
    this.#serverProbabilities[cell] = probability;
    this.#serverTimesMs[cell] = nowMs;
  }

  serverProbability(cell: number): number {
    return this.#serverProbabilities[cell] ?? 0;
  }

  /** When the latest value of a cell whose fold is in flight arrived; NaN if none since it was taken. */
  serverTimeMsOf(cell: number): number {
    return this.#serverTimesMs[cell] ?? Number.NaN;
  }

  /** Forgets all folds. Returns the number of cells. */
  dropAll(): number {
    const count = this.countCells();
    this.#unsent.clear();
    this.#inFlight.clear();
    return count;
  }

  /** Forgets the values from the service. */
  forgetServerValues(): void {
    this.#serverProbabilities.fill(0);
    this.#serverTimesMs.fill(Number.NaN);
  }

  /** For a new window: nothing pending, no values. Returns how many cells lost a fold. */
  restart(): number {
    this.forgetServerValues();
    return this.dropAll();
  }
}
