// Outcomes of one structure that the service has not acknowledged: per cell a fold that is under way and
// one that is not sent yet. Taking a round swaps the two sets, so it copies nothing.
//
// Why the service's last word is kept as well: a round may come in several messages, and the
// acknowledgement is in the last. A value in an earlier one includes what is in flight already, which we
// cannot know yet, so in-flight folds are put on top of it; the acknowledgement takes them off again.
//
// F9  At most two folds per cell, so at most 2 · levels · columns pending cells in two structures.
import { assert } from '@syncline/kernel';
import { FoldSet } from './fold-set.js';

export class PendingFolds {
  #unsent: FoldSet;
  #inFlight: FoldSet;
  /** What the service last said of a cell; 0 if it has not. */
  readonly #saidProbabilities: Float64Array;
  /** Monotonic ms; NaN if it has said nothing since the cell's round was taken. */
  readonly #saidTimesMs: Float64Array;

  constructor(cellsCount: number) {
    this.#unsent = new FoldSet(cellsCount);
    this.#inFlight = new FoldSet(cellsCount);
    this.#saidProbabilities = new Float64Array(cellsCount);
    this.#saidTimesMs = new Float64Array(cellsCount).fill(Number.NaN);
  }

  /** Only to look at. */
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

  /** What is unsent is in flight from now on. */
  take(): FoldSet {
    assert(this.#inFlight.count === 0, 'one round is in flight at a time');
    [this.#unsent, this.#inFlight] = [this.#inFlight, this.#unsent];
    this.forgetSaid();
    return this.#inFlight;
  }

  /** On another stream an acknowledgement says nothing of values that came before it. */
  forgetSaid(): void {
    const { cells, count } = this.#inFlight;
    for (let index = 0; index < count; index += 1)
      this.#saidTimesMs[cells[index] ?? 0] = Number.NaN;
  }

  /** Takes in what the service says of a cell, and returns what the view is then. */
  rebase(cell: number, probability: number, nowMs: number): number {
    this.hear(cell, probability, nowMs);
    return this.#unsent.applied(cell, this.#inFlight.applied(cell, probability));
  }

  /** Only takes it in. */
  hear(cell: number, probability: number, nowMs: number): void {
    this.#saidProbabilities[cell] = probability;
    this.#saidTimesMs[cell] = nowMs;
  }

  saidProbability(cell: number): number {
    return this.#saidProbabilities[cell] ?? 0;
  }

  /** When the service last spoke of a cell whose fold is in flight; NaN if not since it was taken. */
  saidTimeMs(cell: number): number {
    return this.#saidTimesMs[cell] ?? Number.NaN;
  }

  /** Forgets all folds. Returns of how many cells. */
  dropAll(): number {
    const count = this.countCells();
    this.#unsent.clear();
    this.#inFlight.clear();
    return count;
  }

  /** Nothing was said yet, as far as we know. */
  forgetAllSaid(): void {
    this.#saidProbabilities.fill(0);
    this.#saidTimesMs.fill(Number.NaN);
  }

  /** For another window: nothing pending, nothing said. Returns how many cells lost a fold. */
  restart(): number {
    this.forgetAllSaid();
    return this.dropAll();
  }
}
