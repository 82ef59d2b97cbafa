// Cells of one seed as columns of numbers. Each cell has a slot, a small whole number that names it in marks
// and rounds: a tracker's cells are stored row by row; those of the default tracker, whose rows and columns may
// be any number, get the next free slot when they are first touched. Either way memory is only allocated for
// chunks with a touched cell: a hello with a large shape costs nothing.

// A long list of numbers that takes memory only where something was set: it is stored in chunks, and a chunk that
// was never written to is shared by all lists and filled with zeros (or another default). A tracker of a
// quarter of a million cells in which one was touched then costs as much as one of a thousand cells.

const CHUNK_BITS = 10;

/** Entries that take memory together. */
export const CHUNK_LENGTH = 2 ** CHUNK_BITS;

const CHUNK_MASK = CHUNK_LENGTH - 1;

export function chunkOf(index: number): number {
  return index >>> CHUNK_BITS;
}

export class ChunkedNumbers {
  readonly #rest: Float64Array;
  readonly #chunks: Float64Array[] = [];

  /** `rest`: the value of entries that were never set. */
  constructor(rest = 0) {
    this.#rest = restOf(rest);
  }

  at(index: number): number {
    return this.#chunks[chunkOf(index)]?.[index & CHUNK_MASK] ?? this.#rest[0] ?? 0;
  }

  set(index: number, value: number): void {
    const chunk = this.#chunks[chunkOf(index)];
    if (chunk === undefined || chunk === this.#rest) this.#open(index)[index & CHUNK_MASK] = value;
    else chunk[index & CHUNK_MASK] = value;
  }

  /** Whether setting this entry takes no more memory. */
  isOpen(index: number): boolean {
    const chunk = this.#chunks[chunkOf(index)];
    return chunk !== undefined && chunk !== this.#rest;
  }

  #open(index: number): Float64Array {
    const at = chunkOf(index);
    while (this.#chunks.length < at) this.#chunks.push(this.#rest); // a list without holes is faster
    const chunk = this.#rest.slice();
    this.#chunks[at] = chunk;
    return chunk;
  }
}

const rests = new Map<number, Float64Array>();

function restOf(value: number): Float64Array {
  const known = rests.get(value);
  if (known !== undefined) return known;
  const rest = new Float64Array(CHUNK_LENGTH).fill(value);
  rests.set(value, rest);
  return rest;
}

export interface CellGrid {
  /** Slots are 0 to `slotsCount` - 1. */
  readonly slotsCount: number;
  /** How many were touched. */
  readonly touchedCount: number;
  /** How many there is memory for: whole chunks. */
  readonly heldCount: number;
  /** Whether there is memory for it. */
  isHeld(slot: number): boolean;
  probabilityOf(slot: number): number;
  /** -Infinity of a cell that was never touched. */
  timeMsOf(slot: number): number;
  /** Allocates the cell if needed. */
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

/** Of a tracker's cell. */
export function slotIn({ columns }: GridShape, row: number, column: number): number {
  return row * columns + column;
}

/** The values of a grid, by slot. */
class CellValues {
  readonly #probabilities = new ChunkedNumbers();
  readonly #timesMs = new ChunkedNumbers(Number.NEGATIVE_INFINITY);
  touchedCount = 0;
  heldCount = 0;

  isHeld(slot: number): boolean {
    return this.#timesMs.isOpen(slot);
  }

  probabilityOf(slot: number): number {
    return this.#probabilities.at(slot);
  }

  timeMsOf(slot: number): number {
    return this.#timesMs.at(slot);
  }

  put(slot: number, probability: number, timeMs: number): void {
    if (this.#timesMs.at(slot) === Number.NEGATIVE_INFINITY) this.#touch(slot);
    this.#probabilities.set(slot, probability);
    this.#timesMs.set(slot, timeMs);
  }

  #touch(slot: number): void {
    this.touchedCount += 1;
    if (!this.isHeld(slot)) this.heldCount += CHUNK_LENGTH;
  }
}

class DenseGrid extends CellValues implements CellGrid {
  readonly #shape: GridShape;
  readonly slotsCount: number;

  constructor(shape: GridShape) {
    super();
    this.#shape = shape;
    this.slotsCount = shape.levels * shape.columns;
  }

  slotOf(row: number, column: number): number {
    return slotIn(this.#shape, row, column);
  }

  has(row: number, column: number): boolean {
    return this.timeMsOf(this.slotOf(row, column)) !== Number.NEGATIVE_INFINITY;
  }

  rowOf(slot: number): number {
    return Math.floor(slot / this.#shape.columns);
  }

  columnOf(slot: number): number {
    return slot % this.#shape.columns;
  }
}

class SparseGrid extends CellValues implements CellGrid {
  readonly #slots = new Map<number, Map<number, number>>();
  readonly #rows = new ChunkedNumbers();
  readonly #columns = new ChunkedNumbers();
  slotsCount = 0;

  slotOf(row: number, column: number): number {
    let columns = this.#slots.get(row);
    if (columns === undefined) {
      columns = new Map();
      this.#slots.set(row, columns);
    }
    const known = columns.get(column);
    if (known !== undefined) return known;
    const slot = this.slotsCount;
    columns.set(column, slot);
    this.#rows.set(slot, row);
    this.#columns.set(slot, column);
    this.slotsCount += 1;
    return slot;
  }

  has(row: number, column: number): boolean {
    return this.#slots.get(row)?.has(column) ?? false;
  }

  rowOf(slot: number): number {
    return this.#rows.at(slot);
  }

  columnOf(slot: number): number {
    return this.#columns.at(slot);
  }
}
