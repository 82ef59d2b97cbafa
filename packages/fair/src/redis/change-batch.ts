// A message of deltas as calls of the script: each cell once per call, by row, at most 500 to a call.
//
// Deltas of one message see one moment, so there is no decay between two of the same cell and their
// composition is exact. A message above 500 becomes parts; the script remembers how many of them it
// has applied, so that repeating the message repeats none. Parts depend on the message alone: another
// replica that gets it again makes the same ones.
import type { CellDeltas, Cells } from '../cells.js';
import { composeFolds, type Fold } from '../fold.js';
import { fairLimits } from '../limits.js';
import { packIds, packNumbers } from './message-pack.js';

/** Amounts further out than this end at a bound all the same, and their sum stays finite. */
const AMOUNT_MAX = 2;

export interface ChangePart {
  readonly rows: readonly number[];
  /** Per row: its id, how many cells follow, their columns. */
  readonly places: Buffer;
  /** Per cell: amount, low, high; with `withTimes` also the client's time. */
  readonly changes: Buffer;
}

interface CellChange extends Fold {
  readonly row: number;
  readonly column: number;
  readonly timeMs: number;
}

export function partsOfDeltas(deltas: CellDeltas, withTimes: boolean): readonly ChangePart[] {
  return partsOf(foldedByCell(deltas), withTimes);
}

/** A join by max is the fold that lifts to the given value and adds nothing. */
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

function foldedByCell(deltas: CellDeltas): readonly CellChange[] {
  const byRow = new Map<number, Map<number, CellChange>>();
  for (let index = 0; index < deltas.count; index += 1) {
    const row = deltas.rows[index] ?? 0;
    const column = deltas.columns[index] ?? 0;
    const change = changeAt(deltas, index, { row, column });
    const cells = byRow.get(row) ?? new Map<number, CellChange>();
    const earlier = cells.get(column);
    const timeMs = Math.max(earlier?.timeMs ?? 0, change.timeMs);
    cells.set(
      column,
      earlier === undefined ? change : { row, column, timeMs, ...composeFolds(earlier, change) },
    );
    byRow.set(row, cells);
  }
  return [...byRow.values()].flatMap((cells) => [...cells.values()]);
}

function changeAt(
  deltas: CellDeltas,
  index: number,
  place: { readonly row: number; readonly column: number },
): CellChange {
  const amount = deltas.amounts[index] ?? 0;
  return {
    ...place,
    amount: Math.min(AMOUNT_MAX, Math.max(-AMOUNT_MAX, amount)),
    low: deltas.lows[index] ?? 0,
    high: deltas.highs[index] ?? 1,
    timeMs: deltas.timesMs[index] ?? 0,
  };
}

function partsOf(changes: readonly CellChange[], withTimes: boolean): readonly ChangePart[] {
  const parts: ChangePart[] = [];
  const partMax = fairLimits.redisDeltasPerCallMax.value;
  for (let start = 0; start < changes.length; start += partMax)
    parts.push(packPart(changes.slice(start, start + partMax), withTimes));
  return parts;
}

function packPart(changes: readonly CellChange[], withTimes: boolean): ChangePart {
  const rows: number[] = [];
  const places: number[] = [];
  const numbers: number[] = [];
  let countAt = 0;
  for (const { row, column, amount, low, high, timeMs } of changes) {
    if (rows.at(-1) !== row) {
      rows.push(row);
      places.push(row, 0);
      countAt = places.length - 1;
    }
    places[countAt] = (places[countAt] ?? 0) + 1;
    places.push(column);
    numbers.push(amount, low, high);
    if (withTimes) numbers.push(timeMs);
  }
  return { rows, places: packIds(places), changes: packNumbers(numbers) };
}
