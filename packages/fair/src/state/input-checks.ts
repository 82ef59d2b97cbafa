// Checks messages. Everything is checked before anything is applied, so that a refused message changes nothing;
// the error names the field, its index, its value and what is allowed.
//
// F3   Only finite numbers and probabilities in [0, 1] pass these checks.
// F10  A refused message leaves no trace.
import { SynclineError } from '@syncline/kernel';
import type { CellDeltas, Cells } from '../cells.js';
import type { GridShape } from './cell-grid.js';

const whole = `an integer up to 2^53 - 1`;

/** For the default tracker: the original contract has no bounds of a delta, so they are ignored. */
export function checkDefaultDeltas(deltas: CellDeltas): void {
  const { count, rows, columns, amounts, timesMs } = deltas;
  checkIds('deltas', { count, rows, columns, timesMs }, undefined);
  for (let index = 0; index < count; index += 1) {
    if (!Number.isFinite(amounts[index])) throw notFinite(index, amounts[index]);
  }
}

export function checkNamedDeltas(deltas: CellDeltas, shape: GridShape): void {
  const { count, rows, columns, amounts, timesMs, lows, highs } = deltas;
  checkIds('deltas', { count, rows, columns, timesMs }, shape);
  for (let index = 0; index < count; index += 1) {
    const low = lows[index] ?? 0;
    const high = highs[index] ?? 1;
    if (!Number.isFinite(amounts[index])) throw notFinite(index, amounts[index]);
    if (!(low >= 0 && low <= 1)) throw refused(`deltas[${index}].lo`, low, 'in [0, 1]');
    if (!(high >= 0 && high <= 1)) throw refused(`deltas[${index}].hi`, high, 'in [0, 1]');
    if (low > high) throw refused(`deltas[${index}].lo`, low, `at most hi, which is ${high}`);
  }
}

export function checkView(cells: Cells, shape: GridShape): void {
  checkIds('buckets', cells, shape);
  for (let index = 0; index < cells.count; index += 1) {
    const probability = cells.probabilities[index] ?? 0;
    if (!(probability >= 0 && probability <= 1))
      throw refused(`buckets[${index}].prob`, probability, 'in [0, 1]');
  }
}

/** Numbers of the service: 0, where allowed, means none. */
export function checkCount(field: string, value: number, least: number): void {
  if (value >= least && value <= Number.MAX_SAFE_INTEGER) return;
  throw refused(field, textOfWhole(value), `${whole}${least > 0 ? `, at least ${least}` : ''}`);
}

export function checkNamedSeed(seed: bigint, windowMs: number): void {
  if (seed % BigInt(windowMs) === 0n) return;
  throw refused('seed', seed, `a multiple of window_ms, which is ${windowMs}`);
}

export function refused(field: string, value: unknown, allowed: string): SynclineError {
  return new SynclineError(
    'invalid-argument',
    `${field} is ${String(value)}; it must be ${allowed}`,
    {
      details: { field, value: String(value), allowed },
    },
  );
}

function checkIds(
  list: string,
  { count, rows, columns, timesMs }: Pick<Cells, 'count' | 'rows' | 'columns' | 'timesMs'>,
  shape: GridShape | undefined,
): void {
  const rowMax = shape === undefined ? Number.MAX_SAFE_INTEGER : shape.levels - 1;
  const columnMax = shape === undefined ? Number.MAX_SAFE_INTEGER : shape.columns - 1;
  for (let index = 0; index < count; index += 1) {
    const row = rows[index] ?? 0;
    const column = columns[index] ?? 0;
    if (row <= rowMax && column <= columnMax && (timesMs[index] ?? 0) <= Number.MAX_SAFE_INTEGER)
      continue;
    if (row > rowMax)
      throw refused(`${list}[${index}].row_id`, textOfWhole(row), allowedIds(shape?.levels));
    if (column > columnMax)
      throw refused(`${list}[${index}].col_id`, textOfWhole(column), allowedIds(shape?.columns));
    throw refused(`${list}[${index}].last_update_time_ms`, textOfWhole(timesMs[index] ?? 0), whole);
  }
}

/** For integers. One that a number cannot hold is decoded as Infinity. */
export function textOfWhole(value: number): string {
  return value === Number.POSITIVE_INFINITY ? 'above 2^53 - 1' : String(value);
}

function allowedIds(count: number | undefined): string {
  return count === undefined ? whole : `0 to ${count - 1}`;
}

function notFinite(index: number, amount: number | undefined): SynclineError {
  return refused(`deltas[${index}].delta_prob`, amount, 'a finite number');
}
