// Outcomes of one structure that the service has not acknowledged: per cell a fold that is in flight and
// one that is not sent yet. Taking a round swaps the two sets, so it copies nothing.
//
// The service's latest value is kept as well, because a round may arrive in several messages, with the
// acknowledgement in the last. A value in an earlier one already includes what is in flight, which we cannot
// know yet, so in-flight folds are applied to it; the acknowledgement removes them again.
//
// F9  At most two folds per cell, so at most 2 · levels · columns pending cells in two structures.
import { assert } from '@syncline/kernel';
import { FoldSet } from './fold-set.js';

export class PendingFolds {
  #unsent: FoldSet;
  #inFlight: FoldSet;
  /** The latest value of a cell from the service; 0 if there was none. */
  readonly #saidProbabilities: Float64Array;
  /** Monotonic ms; NaN if none arrived since the cell's round was taken. */
  readonly #saidTimesMs: Float64Array;

  constructor(cellsCount: number) {
    this.#unsent = new FoldSet(cellsCount);
    this.#inFlight = new FoldSet(cellsCount);
    this.#saidProbabilities = new Float64Array(cellsCount);
    this.#saidTimesMs = new Float64Array(cellsCount).fill(Number.NaN);
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
    this.forgetSaid();
    return this.#inFlight;
  }

  /** On a new stream an acknowledgement does not apply to values from before. */
  forgetSaid(): void {
    const { cells, count } = this.#inFlight;
    for (let index = 0; index < count; index += 1)
      this.#saidTimesMs[cells[index] ?? 0] = Number.NaN;
  }

  /** Records a value of a cell from the service, and returns the resulting view. */
  rebase(cell: number, probability: number, nowMs: number): number {
    this.hear(cell, probability, nowMs);
    return this.#unsent.applied(cell, this.#inFlight.applied(cell, probability));
  }

  /** Only records it. */
  hear(cell: number, probability: number, nowMs: number): void {
    this.#saidProbabilities[cell] = probability;
    this.#saidTimesMs[cell] = nowMs;
  }

  saidProbability(cell: number): number {
    return this.#saidProbabilities[cell] ?? 0;
  }

  /** When the latest value of a cell whose fold is in flight arrived; NaN if none since it was taken. */
  saidTimeMs(cell: number): number {
    return this.#saidTimesMs[cell] ?? Number.NaN;
  }

  /** Forgets all folds. Returns the number of cells. */
  dropAll(): number {
    const count = this.countCells();
    this.#unsent.clear();
    this.#inFlight.clear();
    return count;
  }

  /** Forgets the values from the service. */
  forgetAllSaid(): void {
    this.#saidProbabilities.fill(0);
    this.#saidTimesMs.fill(Number.NaN);
  }

  /** For a new window: nothing pending, no values. Returns how many cells lost a fold. */
  restart(): number {
    this.forgetAllSaid();
    return this.dropAll();
  }
}
