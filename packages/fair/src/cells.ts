// Cells and changes of cells as columns of numbers: one array per field instead of an object per cell.
// A round of a busy service holds thousands of them, many times a second.
//
// Arrays may be longer than `count`: their owner may reuse them for the next message. Arguments are valid
// during the call; copy what must be kept.

export interface Cells {
  readonly count: number;
  /** Whole numbers up to 2^53 - 1: without a tracker name a client may use any row and column. */
  readonly rows: Float64Array;
  readonly columns: Float64Array;
  readonly probabilities: Float64Array;
  /** `last_update_time_ms`: information only, except in the default tracker, which keeps the highest. */
  readonly timesMs: Float64Array;
}

/** A change is a clamped sum: p becomes min(high, max(low, p + amount)). See `Fold`. */
export interface CellDeltas {
  readonly count: number;
  readonly rows: Float64Array;
  readonly columns: Float64Array;
  readonly amounts: Float64Array;
  readonly timesMs: Float64Array;
  readonly lows: Float64Array;
  readonly highs: Float64Array;
}

/** Columns that are being filled. */
export type CellColumns = Cells & { count: number };
export type DeltaColumns = CellDeltas & { count: number };

export function createCells(capacity: number): CellColumns {
  return {
    count: 0,
    rows: new Float64Array(capacity),
    columns: new Float64Array(capacity),
    probabilities: new Float64Array(capacity),
    timesMs: new Float64Array(capacity),
  };
}

export function createCellDeltas(capacity: number): DeltaColumns {
  return {
    count: 0,
    rows: new Float64Array(capacity),
    columns: new Float64Array(capacity),
    amounts: new Float64Array(capacity),
    timesMs: new Float64Array(capacity),
    lows: new Float64Array(capacity),
    highs: new Float64Array(capacity),
  };
}

/** Full, so that it is never written to. */
export const NO_CELLS: CellColumns = createCells(0);

/** Copies the columns of `from` behind the first `at` entries of `to`. The counts are left alone. */
export function copyColumns<Columns extends Cells | CellDeltas>(
  from: Columns,
  to: Columns,
  at = 0,
): void {
  for (const [name, column] of Object.entries(from) as [keyof Columns, Float64Array | number][]) {
    const target = to[name];
    if (target instanceof Float64Array && typeof column !== 'number')
      target.set(column.subarray(0, from.count), at);
  }
}

// Outcomes compose. One outcome is f(p) = min(high, max(low, p + amount)), and f followed by g is again
// of this form, so any number of outcomes of a cell can be sent as one change, exactly. Adding amounts up and
// clamping at the end would not: 25 failures and then 25 recoveries of the same size, from p = 1, end at
// 0 and not at 1.
//
// F4  Applying a fold is applying its outcomes one by one.

export interface Fold {
  readonly amount: number;
  readonly low: number;
  readonly high: number;
}

/** The identity on [0, 1]. */
export const NO_CHANGE: Fold = Object.freeze({ amount: 0, low: 0, high: 1 });

export function applyFold({ amount, low, high }: Fold, probability: number): number {
  return Math.min(high, Math.max(low, probability + amount));
}

/** First `earlier`, then `later`. */
export function composeFolds(earlier: Fold, later: Fold): Fold {
  return {
    amount: earlier.amount + later.amount,
    low: applyFold(later, earlier.low),
    high: applyFold(later, earlier.high),
  };
}

// Lists of cells by their numbers: level by level, as the structures lay them out. Two bytes are enough for
// most structures, and a tracker holds a list of them for each key that it remembers.

export type CellNumbers = Uint16Array | Uint32Array;

const NUMBERS_OF_TWO_BYTES = 0x1_0000;

/** A list of `length` numbers below `cellsCount`. */
export function createCellNumbers(length: number, cellsCount: number): CellNumbers {
  return cellsCount <= NUMBERS_OF_TWO_BYTES ? new Uint16Array(length) : new Uint32Array(length);
}
