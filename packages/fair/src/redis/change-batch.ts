// A message of deltas as calls of the script: each cell once per call, by row, at most 500 to a call.
//
// Deltas of one message see one moment, so there is no decay between two of the same cell and their
// composition is exact. A message above 500 becomes parts; the script remembers how many of them it
// has applied, so that repeating the message repeats none. Parts depend only on the message: another replica
// that receives it again makes the same ones.
import { type CellDeltas, type Cells, composeFolds } from '../cells.js';
import { fairLimits } from '../limits.js';
import { packIds, packNumbers } from './seed-change.js';

/** Larger amounts end at a bound anyway, and their sum stays finite. */
const AMOUNT_MAX = 2;

export interface ChangePart {
  readonly cellsCount: number;
  readonly rows: readonly number[];
  /** Per row: its id, how many cells follow, their columns. */
  readonly places: Buffer;
  /** Per cell: amount, low, high; with `withTimes` also the client's time. */
  readonly changes: Buffer;
}

interface CellChange {
  readonly column: number;
  amount: number;
  low: number;
  high: number;
  timeMs: number;
}

/** Cells by row, and by column in it. */
type ChangesByCell = ReadonlyMap<number, ReadonlyMap<number, CellChange>>;

export function partsOfDeltas(deltas: CellDeltas, withTimes: boolean): readonly ChangePart[] {
  return packParts(foldByCell(deltas), withTimes);
}

/** A join by max is the fold with this value as its lower bound and amount 0. */
export function partsOfView(view: Cells, withTimes: boolean): readonly ChangePart[] {
  const { count, rows, columns, probabilities, timesMs } = view;
  const deltas = {
    count,
    rows,
    columns,
    amounts: new Float64Array(count),
    timesMs,
    lows: probabilities,
    highs: new Float64Array(count).fill(1),
  };
  return partsOfDeltas(deltas, withTimes);
}

function foldByCell(deltas: CellDeltas): ChangesByCell {
  const byRow = new Map<number, Map<number, CellChange>>();
  for (let index = 0; index < deltas.count; index += 1) {
    const row = deltas.rows[index] ?? 0;
    let cells = byRow.get(row);
    if (cells === undefined) {
      cells = new Map();
      byRow.set(row, cells);
    }
    const later = changeAt(deltas, index);
    const earlier = cells.get(later.column);
    if (earlier === undefined) cells.set(later.column, later);
    else foldInto(earlier, later);
  }
  return byRow;
}

function changeAt(deltas: CellDeltas, index: number): CellChange {
  const amount = deltas.amounts[index] ?? 0;
  return {
    column: deltas.columns[index] ?? 0,
    amount: Math.min(AMOUNT_MAX, Math.max(-AMOUNT_MAX, amount)),
    low: deltas.lows[index] ?? 0,
    high: deltas.highs[index] ?? 1,
    timeMs: deltas.timesMs[index] ?? 0,
  };
}

function foldInto(cell: CellChange, later: CellChange): void {
  const { amount, low, high } = composeFolds(cell, later);
  cell.amount = amount;
  cell.low = low;
  cell.high = high;
  cell.timeMs = Math.max(cell.timeMs, later.timeMs);
}

function packParts(byRow: ChangesByCell, withTimes: boolean): readonly ChangePart[] {
  const parts: ChangePart[] = [];
  let part = new PartInProgress(withTimes);
  for (const [row, cells] of byRow) {
    for (const cell of cells.values()) {
      if (part.cellsCount === fairLimits.redisDeltasPerCallMax.value) {
        parts.push(part.pack());
        part = new PartInProgress(withTimes);
      }
      part.add(row, cell);
    }
  }
  if (part.cellsCount > 0) parts.push(part.pack());
  return parts;
}

class PartInProgress {
  readonly #withTimes: boolean;
  readonly #rows: number[] = [];
  readonly #places: number[] = [];
  readonly #numbers: number[] = [];
  /** Index of the count of the current row. */
  #countAt = 0;
  cellsCount = 0;

  constructor(withTimes: boolean) {
    this.#withTimes = withTimes;
  }

  add(row: number, { column, amount, low, high, timeMs }: CellChange): void {
    if (this.#rows.at(-1) !== row) {
      this.#rows.push(row);
      this.#countAt = this.#places.push(row, 0) - 1;
    }
    this.#places[this.#countAt] = (this.#places[this.#countAt] ?? 0) + 1;
    this.#places.push(column);
    this.#numbers.push(amount, low, high);
    if (this.#withTimes) this.#numbers.push(timeMs);
    this.cellsCount += 1;
  }

  pack(): ChangePart {
    return {
      cellsCount: this.cellsCount,
      rows: this.#rows,
      places: packIds(this.#places),
      changes: packNumbers(this.#numbers),
    };
  }
}
