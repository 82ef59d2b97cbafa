// Levels times columns of cells: a throttling probability and the time of its last change. A seed names
// the structure; it is the start of the time window that it belongs to.
//
// Both numbers of a cell are adjacent in one typed array, so that accessing a cell touches one cache line.
//
// F3  Every probability is finite and in [0, 1].
import { assert } from '@syncline/kernel';
import type { CellNumbers } from './cells.js';
import { PendingFolds } from './client/pending-folds.js';
import type { DecayTable } from './decay.js';
import type { KeyHash, WindowSalt } from './key-hash.js';

export class Structure {
  readonly #decay: DecayTable;
  /** The probability of cell i at 2·i, followed by its time in monotonic ms. */
  readonly #cells: Float64Array;
  /** Outcomes that the shared state does not have yet. Empty in a structure that is not shared. */
  readonly pending: PendingFolds;
  seed = 0;
  salt: WindowSalt = new Uint32Array(4);

  constructor(cellsCount: number, decay: DecayTable, isShared: boolean) {
    this.#decay = decay;
    this.pending = new PendingFolds(isShared ? cellsCount : 0);
    this.#cells = new Float64Array(2 * cellsCount);
    this.#empty();
  }

  /** Empties it for another window. Returns how many cells lost outcomes that were pending. */
  restart(seed: number, hash: KeyHash): number {
    this.seed = seed;
    this.salt = hash.saltOf(seed);
    this.#empty();
    return this.pending.restart();
  }

  probabilityAt(cell: number, nowMs: number): number {
    const cells = this.#cells;
    const at = 2 * cell;
    return this.#decay.decayed(cells[at] ?? 0, nowMs - (cells[at + 1] ?? 0));
  }

  /** Hot: the lowest probability of a flow, or the mean. `cells` holds the numbers of its cells, level by level. */
  combined(cells: CellNumbers, from: number, to: number, nowMs: number, isMean: boolean): number {
    const values = this.#cells;
    let lowest = 1;
    let sum = 0;
    for (let index = from; index < to; index += 1) {
      const at = 2 * (cells[index] ?? 0);
      const probability = this.#decay.decayed(values[at] ?? 0, nowMs - (values[at + 1] ?? 0));
      if (probability < lowest) lowest = probability;
      sum += probability;
    }
    return isMean ? Math.min(1, sum / (to - from)) : lowest;
  }

  /**
   * Hot: whether the same, before decay, is at most `bound`. For the lowest, one cell is enough, usually the
   * first.
   */
  isAtMost(bound: number, cells: CellNumbers, from: number, to: number, isMean: boolean): boolean {
    const values = this.#cells;
    let sum = 0;
    for (let index = from; index < to; index += 1) {
      const probability = values[2 * (cells[index] ?? 0)] ?? 0;
      if (!isMean && probability <= bound) return true;
      sum += probability;
    }
    return isMean && sum / (to - from) <= bound;
  }

  /** Hot: whether all cells of a flow are 0. */
  isClear(cells: CellNumbers, from: number, to: number): boolean {
    const values = this.#cells;
    for (let index = from; index < to; index += 1)
      if (values[2 * (cells[index] ?? 0)] !== 0) return false;
    return true;
  }

  /** Hot: adds an outcome to all cells of a flow. */
  addToAll(cells: CellNumbers, from: number, to: number, delta: number, nowMs: number): void {
    assert(!Number.isNaN(delta), 'F3: a change is a number');
    const values = this.#cells;
    for (let index = from; index < to; index += 1) {
      const at = 2 * (cells[index] ?? 0);
      const before = this.#decay.decayed(values[at] ?? 0, nowMs - (values[at + 1] ?? 0));
      values[at] = Math.min(1, Math.max(0, before + delta));
      values[at + 1] = nowMs;
    }
  }

  /** Stores a value from the shared state. */
  overwrite(cell: number, probability: number, timeMs: number): void {
    assert(probability >= 0 && probability <= 1, 'F3: a probability is in [0, 1]');
    this.#cells[2 * cell] = probability;
    this.#cells[2 * cell + 1] = timeMs;
  }

  /** Ms since the last change; undefined in a cell that was never touched. */
  ageMsAt(cell: number, nowMs: number): number | undefined {
    const timeMs = this.#cells[2 * cell + 1] ?? NEVER_MS;
    return timeMs === NEVER_MS ? undefined : Math.max(0, nowMs - timeMs);
  }

  #empty(): void {
    const cells = this.#cells;
    for (let at = 0; at < cells.length; at += 2) {
      cells[at] = 0;
      cells[at + 1] = NEVER_MS;
    }
  }
}

/** The time of a cell that was never touched. */
const NEVER_MS = Number.NEGATIVE_INFINITY;
