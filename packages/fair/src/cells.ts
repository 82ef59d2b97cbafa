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
  /** `last_update_time_ms`: information only, except in the default namespace, which keeps the highest. */
  readonly timesMs: Float64Array;
}

/** A change is a clamped sum: p becomes min(high, max(low, p + amount)). See fold.ts. */
export interface CellDeltas {
  readonly count: number;
  readonly rows: Float64Array;
  readonly columns: Float64Array;
  readonly amounts: Float64Array;
  readonly timesMs: Float64Array;
  readonly lows: Float64Array;
  readonly highs: Float64Array;
}

export function createCells(capacity: number): Cells & { count: number } {
  return {
    count: 0,
    rows: new Float64Array(capacity),
    columns: new Float64Array(capacity),
    probabilities: new Float64Array(capacity),
    timesMs: new Float64Array(capacity),
  };
}

export function createCellDeltas(capacity: number): CellDeltas & { count: number } {
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
