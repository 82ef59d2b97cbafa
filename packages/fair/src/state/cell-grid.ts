// Cells of one seed in typed arrays. Each cell has a slot, a small whole number that names it in marks and
// rounds: a tracker's cells lie row by row; those of the default namespace, whose rows and columns may be
// any number, get the next free slot when they are first touched.

export interface CellGrid {
  /** Slots are 0 to `slotsCount` - 1. */
  readonly slotsCount: number;
  /** How many were touched. */
  readonly touchedCount: number;
  /** By slot. A growing grid replaces its arrays: read them anew after `slotOf`. */
  readonly probabilities: Float64Array;
  /** -Infinity in a cell that was never touched. */
  readonly timesMs: Float64Array;
  /** Makes room for the cell if there is none. */
  slotOf(row: number, column: number): number;
  has(row: number, column: number): boolean;
  rowOf(slot: number): number;
  columnOf(slot: number): number;
  put(slot: number, probability: number, timeMs: number): void;
}

export interface GridShape {
  readonly levels: number;
  readonly columns: number;
}

export function createCellGrid(shape: GridShape | undefined): CellGrid {
  return shape === undefined ? new SparseGrid() : new DenseGrid(shape);
}

class DenseGrid implements CellGrid {
  readonly #columns: number;
  readonly slotsCount: number;
  readonly probabilities: Float64Array;
  readonly timesMs: Float64Array;
  touchedCount = 0;

  constructor({ levels, columns }: GridShape) {
    this.#columns = columns;
    this.slotsCount = levels * columns;
    this.probabilities = new Float64Array(this.slotsCount);
    this.timesMs = new Float64Array(this.slotsCount).fill(Number.NEGATIVE_INFINITY);
  }

  slotOf(row: number, column: number): number {
    return row * this.#columns + column;
  }

  has(row: number, column: number): boolean {
    return this.timesMs[this.slotOf(row, column)] !== Number.NEGATIVE_INFINITY;
  }

  rowOf(slot: number): number {
    return Math.floor(slot / this.#columns);
  }

  columnOf(slot: number): number {
    return slot % this.#columns;
  }

  put(slot: number, probability: number, timeMs: number): void {
    if (this.timesMs[slot] === Number.NEGATIVE_INFINITY) this.touchedCount += 1;
    this.probabilities[slot] = probability;
    this.timesMs[slot] = timeMs;
  }
}

/** Cells of a new sparse grid; it doubles when they are used. */
const SPARSE_CAPACITY = 64;

class SparseGrid implements CellGrid {
  readonly #slots = new Map<number, Map<number, number>>();
  #rows = new Float64Array(SPARSE_CAPACITY);
  #columns = new Float64Array(SPARSE_CAPACITY);
  #probabilities = new Float64Array(SPARSE_CAPACITY);
  #timesMs = new Float64Array(SPARSE_CAPACITY).fill(Number.NEGATIVE_INFINITY);
  slotsCount = 0;

  get touchedCount(): number {
    return this.slotsCount;
  }

  get probabilities(): Float64Array {
    return this.#probabilities;
  }

  get timesMs(): Float64Array {
    return this.#timesMs;
  }

  slotOf(row: number, column: number): number {
    let columns = this.#slots.get(row);
    if (columns === undefined) {
      columns = new Map();
      this.#slots.set(row, columns);
    }
    const known = columns.get(column);
    if (known !== undefined) return known;
    const slot = this.slotsCount;
    if (slot === this.#rows.length) this.#grow();
    columns.set(column, slot);
    this.#rows[slot] = row;
    this.#columns[slot] = column;
    this.slotsCount += 1;
    return slot;
  }

  has(row: number, column: number): boolean {
    return this.#slots.get(row)?.has(column) ?? false;
  }

  rowOf(slot: number): number {
    return this.#rows[slot] ?? 0;
  }

  columnOf(slot: number): number {
    return this.#columns[slot] ?? 0;
  }

  put(slot: number, probability: number, timeMs: number): void {
    this.#probabilities[slot] = probability;
    this.#timesMs[slot] = timeMs;
  }

  #grow(): void {
    this.#rows = doubled(this.#rows, 0);
    this.#columns = doubled(this.#columns, 0);
    this.#probabilities = doubled(this.#probabilities, 0);
    this.#timesMs = doubled(this.#timesMs, Number.NEGATIVE_INFINITY);
  }
}

function doubled(values: Float64Array<ArrayBuffer>, rest: number): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(values.length * 2).fill(rest);
  grown.set(values);
  return grown;
}
