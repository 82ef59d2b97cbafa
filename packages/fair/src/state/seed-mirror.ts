// The latest cells of one seed as the service knows them, whatever the store: the source for rounds, snapshots
// and streams that fell behind. Beside the values it keeps marks for what the next round must send.
import type { Cells } from '../cells.js';
import { decayed } from '../decay.js';
import { type CellGrid, createCellGrid } from './cell-grid.js';
import { CellMarks } from './cell-marks.js';
import type { ChangeRule, Namespace } from './fair-store.js';
import { HotCells } from './hot-cells.js';
import { PROBABILITY_MIN, type StoreTimes } from './memory-seed.js';

export class SeedMirror {
  readonly seed: bigint;
  readonly #rule: ChangeRule;
  readonly #grid: CellGrid;
  readonly hot: HotCells | undefined;
  #dirty: CellMarks;
  /** Takes the marks of the next round while one is being sent. */
  #spare: CellMarks;
  changedAtMs: number;
  /** Changes whenever a value may have changed. */
  version = 0;

  constructor(
    namespace: Namespace,
    seed: bigint,
    options: { readonly nowMs: number; readonly hasBudget: boolean },
  ) {
    this.seed = seed;
    this.#rule = namespace.rule;
    this.#grid = createCellGrid(namespace.shape);
    this.#dirty = new CellMarks(this.#grid.slotsCount);
    this.#spare = new CellMarks(this.#grid.slotsCount);
    this.hot = options.hasBudget ? new HotCells() : undefined;
    this.changedAtMs = options.nowMs;
  }

  get cellsCount(): number {
    return this.#grid.touchedCount;
  }

  /** Cells that there is memory for. */
  get heldCount(): number {
    return this.#grid.heldCount;
  }

  isHeld(slot: number): boolean {
    return this.#grid.isHeld(slot);
  }

  get dirty(): CellMarks {
    return this.#dirty;
  }

  /** Applies a change, which has a number. A named tracker's cells that were 0 and stay 0 are not sent. */
  feed(cells: Cells, nowMs: number, change: number): void {
    const { rows, columns, probabilities, timesMs } = cells;
    const isSum = this.#rule.policy === 'sum';
    this.changedAtMs = nowMs;
    this.version += 1;
    for (let index = 0; index < cells.count; index += 1) {
      const slot = this.#grid.slotOf(rows[index] ?? 0, columns[index] ?? 0);
      const before = this.probabilityAt(slot, nowMs);
      const after = probabilities[index] ?? 0;
      this.#grid.put(slot, after, isSum ? (timesMs[index] ?? 0) : nowMs);
      if (after === 0 && before === 0 && !isSum) continue;
      const isNew = this.#dirty.add(slot);
      this.hot?.note(slot, after - before, isNew ? change : undefined);
    }
  }

  /** Adds the initial content of the store. Changes that arrived in the meantime are newer and stay. */
  load(cells: Cells, nowMs: number): void {
    this.version += 1;
    const { rows, columns, probabilities, timesMs } = cells;
    for (let index = 0; index < cells.count; index += 1) {
      const slot = this.#grid.slotOf(rows[index] ?? 0, columns[index] ?? 0);
      if (this.#grid.timeMsOf(slot) !== Number.NEGATIVE_INFINITY) continue;
      const timeMs = this.#rule.policy === 'sum' ? (timesMs[index] ?? 0) : nowMs;
      this.#grid.put(slot, probabilities[index] ?? 0, timeMs);
    }
  }

  /** All marks, for a round to send. It clears them when it is over. */
  takeDirty(): CellMarks {
    const taken = this.#dirty;
    this.#dirty = this.#spare;
    this.#spare = taken;
    return taken;
  }

  probabilityAt(slot: number, nowMs: number): number {
    const probability = this.#grid.probabilityOf(slot);
    if (this.#rule.policy === 'sum') return probability;
    return decayed(this.#rule, probability, nowMs - this.#grid.timeMsOf(slot));
  }

  /** The first cell from `from` on that a snapshot lists; -1 if there is none. */
  nextListed(from: number, nowMs: number): number {
    const { slotsCount } = this.#grid;
    if (this.#rule.policy === 'sum') return from < slotsCount ? from : -1;
    for (let slot = from; slot < slotsCount; slot += 1) {
      if (this.probabilityAt(slot, nowMs) >= PROBABILITY_MIN) return slot;
    }
    return -1;
  }

  /** Appends the current value of a cell to `cells`. */
  append(cells: Cells & { count: number }, slot: number, times: StoreTimes): void {
    const index = cells.count;
    const isSum = this.#rule.policy === 'sum';
    cells.rows[index] = this.#grid.rowOf(slot);
    cells.columns[index] = this.#grid.columnOf(slot);
    cells.probabilities[index] = this.probabilityAt(slot, times.monotonicMs);
    cells.timesMs[index] = isSum ? this.#grid.timeMsOf(slot) : times.wallMs;
    cells.count = index + 1;
  }

  placeOf(slot: number): { readonly row: number; readonly column: number } {
    return { row: this.#grid.rowOf(slot), column: this.#grid.columnOf(slot) };
  }

  /** Ms since the last change of a cell; undefined in the default tracker, whose times are its clients'. */
  ageMsAt(slot: number, nowMs: number): number | undefined {
    if (this.#rule.policy === 'sum') return undefined;
    return Math.max(0, nowMs - this.#grid.timeMsOf(slot));
  }
}
