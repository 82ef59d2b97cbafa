// One seed of the memory store: its cells, and which changes of which client it has seen.
//
// Sequence numbers are stored with the seed and dropped with it, so they need no separate cleanup. Clients are
// kept in the order of their last change, and of those without a stream the one idle longest is forgotten
// first: a client with a stream may resend its last change.
//
// F3  Every probability is finite and in [0, 1].
// F5  No change of a connected client is applied twice, however many others come and go.
import { assert } from '@syncline/kernel';
import { type CellDeltas, type Cells, createCells } from '../cells.js';
import { decayed } from '../decay.js';
import { fairLimits } from '../limits.js';
import { type CellGrid, createCellGrid } from './cell-grid.js';
import { CellMarks } from './cell-marks.js';
import type { ChangeId, ChangeRule, Namespace } from './fair-store.js';

/** A named tracker's cells below this count as 0, and are not returned. */
export const PROBABILITY_MIN = 1e-6;

export interface StoreTimes {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export class MemorySeed {
  readonly #rule: ChangeRule;
  readonly #grid: CellGrid;
  readonly #touched: CellMarks;
  readonly #lastSeqs = new Map<string, number>();
  changedAtMs: number;

  constructor(namespace: Namespace, nowMs: number) {
    this.#rule = namespace.rule;
    this.#grid = createCellGrid(namespace.shape);
    this.#touched = new CellMarks(this.#grid.slotsCount);
    this.changedAtMs = nowMs;
  }

  get cellsCount(): number {
    return this.#grid.touchedCount;
  }

  /** How many cells these changes would add. Costs an entry per cell. */
  countNew(changes: CellDeltas | Cells): number {
    const added = new Set<string>();
    for (let index = 0; index < changes.count; index += 1) {
      const row = changes.rows[index] ?? 0;
      const column = changes.columns[index] ?? 0;
      if (!this.#grid.has(row, column)) added.add(`${row}/${column}`);
    }
    return added.size;
  }

  /** Remembers a change; false if it was seen before. */
  accept(id: ChangeId): boolean {
    const { clientId, seq } = id;
    const lastSeq = this.#lastSeqs.get(clientId);
    if (lastSeq !== undefined) {
      if (seq <= lastSeq) return false;
      this.#lastSeqs.delete(clientId);
    }
    this.#lastSeqs.set(clientId, seq);
    if (this.#lastSeqs.size > fairLimits.clientIdsMax.value) this.#forgetOne(id);
    return true;
  }

  /** Connected clients found on the way move to the end, so that the next search is short. */
  #forgetOne(newest: ChangeId): void {
    for (const [clientId, seq] of this.#lastSeqs) {
      if (clientId === newest.clientId) return; // all of them are connected, and streams have a limit
      this.#lastSeqs.delete(clientId);
      if (!newest.isConnected?.(clientId)) return;
      this.#lastSeqs.set(clientId, seq);
    }
  }

  apply(deltas: CellDeltas, times: StoreTimes): Cells {
    const { rows, columns, amounts, timesMs, lows, highs } = deltas;
    for (let index = 0; index < deltas.count; index += 1) {
      const slot = this.#grid.slotOf(rows[index] ?? 0, columns[index] ?? 0);
      // As `applyFold` does, without an object per cell.
      const sum = this.#probabilityAt(slot, times.monotonicMs) + (amounts[index] ?? 0);
      const probability = Math.min(highs[index] ?? 1, Math.max(lows[index] ?? 0, sum));
      assert(probability >= 0 && probability <= 1, 'F3: a probability is in [0, 1]');
      this.#put(slot, probability, this.#timeOf(slot, timesMs[index], times));
    }
    return this.#takeTouched(times);
  }

  /** A named tracker's cells that did not rise are not touched. */
  join(cells: Cells, times: StoreTimes): Cells {
    const isSum = this.#rule.policy === 'sum';
    for (let index = 0; index < cells.count; index += 1) {
      const slot = this.#grid.slotOf(cells.rows[index] ?? 0, cells.columns[index] ?? 0);
      const given = cells.probabilities[index] ?? 0;
      assert(given >= 0 && given <= 1, 'F3: a probability is in [0, 1]');
      const before = this.#probabilityAt(slot, times.monotonicMs);
      if (given <= before && !isSum) continue;
      this.#put(slot, Math.max(given, before), this.#timeOf(slot, cells.timesMs[index], times));
    }
    return this.#takeTouched(times);
  }

  /** Values as of now. */
  read(times: StoreTimes): Cells {
    const grid = this.#grid;
    const least = this.#rule.policy === 'sum' ? 0 : PROBABILITY_MIN;
    for (let slot = 0; slot < grid.slotsCount; slot += 1) {
      if (this.#probabilityAt(slot, times.monotonicMs) >= least) this.#touched.add(slot);
    }
    return this.#takeTouched(times);
  }

  #probabilityAt(slot: number, nowMs: number): number {
    const probability = this.#grid.probabilityOf(slot);
    if (this.#rule.policy === 'sum') return probability;
    return decayed(this.#rule, probability, nowMs - this.#grid.timeMsOf(slot));
  }

  /** Decay goes by our own clock; the default tracker keeps the highest time that clients gave. */
  #timeOf(slot: number, givenMs: number | undefined, times: StoreTimes): number {
    if (this.#rule.policy !== 'sum') return times.monotonicMs;
    return Math.max(this.#grid.timeMsOf(slot), givenMs ?? 0);
  }

  #put(slot: number, probability: number, timeMs: number): void {
    this.#grid.put(slot, probability, timeMs);
    this.#touched.add(slot);
  }

  #takeTouched(times: StoreTimes): Cells {
    const grid = this.#grid;
    const cells = createCells(this.#touched.count);
    let count = 0;
    for (let slot = this.#touched.next(0); slot !== -1; slot = this.#touched.next(slot + 1)) {
      cells.rows[count] = grid.rowOf(slot);
      cells.columns[count] = grid.columnOf(slot);
      cells.probabilities[count] = this.#probabilityAt(slot, times.monotonicMs);
      cells.timesMs[count] = this.#rule.policy === 'sum' ? grid.timeMsOf(slot) : times.wallMs;
      count += 1;
    }
    cells.count = count;
    this.#touched.clear();
    return cells;
  }
}
