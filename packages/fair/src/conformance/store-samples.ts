// Namespaces, changes and readable cells for the cases of the store suite.
import assert from 'node:assert/strict';
import { type CellDeltas, type Cells, createCellDeltas, createCells } from '../cells.js';
import type { Applied, FairStore, Namespace } from '../state/fair-store.js';

/** Stores differ in how they compute exp and in how they write numbers down. */
const TOLERANCE = 1e-12;

const shape = { levels: 3, columns: 50 };
const windowMs = 300_000;

export const sumNamespace: Namespace = {
  name: '',
  rule: { policy: 'sum' },
  shape: undefined,
  windowMs,
};
export const exponentialNamespace: Namespace = {
  name: 'api',
  rule: { policy: 'exponential', ratePerSecond: 0.01 },
  shape,
  windowMs,
};
export const linearNamespace: Namespace = {
  name: 'api@2',
  rule: { policy: 'linear', ratePerSecond: 0.005 },
  shape,
  windowMs,
};
export const allNamespaces = [sumNamespace, exponentialNamespace, linearNamespace];

export const SEED = 1_700_000_100_000n;

export interface Delta {
  readonly row: number;
  readonly column: number;
  readonly amount: number;
  readonly timeMs?: number;
  readonly low?: number;
  readonly high?: number;
}

export interface Cell {
  readonly row: number;
  readonly column: number;
  readonly probability: number;
  readonly timeMs: number;
}

export function deltasOf(...deltas: readonly Delta[]): CellDeltas {
  const columns = createCellDeltas(deltas.length);
  for (const [index, delta] of deltas.entries()) {
    columns.rows[index] = delta.row;
    columns.columns[index] = delta.column;
    columns.amounts[index] = delta.amount;
    columns.timesMs[index] = delta.timeMs ?? 0;
    columns.lows[index] = delta.low ?? 0;
    columns.highs[index] = delta.high ?? 1;
  }
  columns.count = deltas.length;
  return columns;
}

export function viewOf(...cells: readonly Omit<Cell, 'timeMs'>[]): Cells {
  const columns = createCells(cells.length);
  for (const [index, cell] of cells.entries()) {
    columns.rows[index] = cell.row;
    columns.columns[index] = cell.column;
    columns.probabilities[index] = cell.probability;
  }
  columns.count = cells.length;
  return columns;
}

/** By row, then column. Copies: a store may use its columns again. */
export function listCells({ count, rows, columns, probabilities, timesMs }: Cells): Cell[] {
  const cells = Array.from({ length: count }, (_, index) => ({
    row: rows[index] ?? Number.NaN,
    column: columns[index] ?? Number.NaN,
    probability: probabilities[index] ?? Number.NaN,
    timeMs: timesMs[index] ?? Number.NaN,
  }));
  return cells.sort((left, right) => left.row - right.row || left.column - right.column);
}

export async function cellsAt(
  store: FairStore,
  namespace: Namespace,
  seed: bigint,
): Promise<Cell[]> {
  return listCells(await store.getSeed(namespace, seed));
}

export async function applied(change: Applied | Promise<Applied>): Promise<Cell[]> {
  const { result, cells } = await change;
  assert.equal(result, 'applied');
  return listCells(cells);
}

/** Times are only compared in the default tracker: elsewhere they are information. */
export function assertSameCells(
  namespace: Namespace,
  actual: readonly Cell[],
  expected: readonly Cell[],
): void {
  const names = (cells: readonly Cell[]) => cells.map(({ row, column }) => `${row}/${column}`);
  assert.deepEqual(names(actual), names(expected), `the cells of "${namespace.name}"`);
  for (const [index, cell] of actual.entries()) {
    const wanted = expected[index];
    const where = `cell ${cell.row}/${cell.column} of "${namespace.name}"`;
    assert.ok(wanted !== undefined, where);
    assert.ok(
      Math.abs(cell.probability - wanted.probability) <= TOLERANCE,
      `${where} is ${cell.probability}, not ${wanted.probability}`,
    );
    if (namespace.rule.policy === 'sum') assert.equal(cell.timeMs, wanted.timeMs, `time, ${where}`);
  }
}

// The subject of the store suite: an empty store and control over its clock, so that runs can be compared.

export interface FairStoreSubject {
  /** An empty store, as a service would use it. */
  readonly store: FairStore;
  /** Lets whole milliseconds pass on the store's own clock; no time passes otherwise. */
  advanceMs(elapsedMs: number): void | Promise<void>;
}
