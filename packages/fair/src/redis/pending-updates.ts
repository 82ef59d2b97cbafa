// Changes waiting for Redis: one fold per cell, however many changes it had, and never more cells than the
// limit. A batch being sent is removed from here, together with its waiters.
import type { CellDeltas } from '../cells.js';
import { createCellDeltas } from '../cells.js';
import { composeFolds, type Fold } from '../fold.js';
import type { BucketDelta, Update } from './storage-buckets.js';

/** Receives the result of a batch: undefined if it was committed. */
export type Waiter = (error: Error | undefined) => void;

export interface PendingBatch {
  readonly deltas: CellDeltas;
  readonly waiters: readonly Waiter[];
}

interface PendingCell extends Fold {
  readonly rowId: number;
  readonly colId: number;
  readonly timeMs: number;
}

interface PendingSeed {
  readonly cells: Map<string, PendingCell>;
  readonly waiters: Waiter[];
}

export class PendingUpdates {
  readonly #cellsMax: number;
  readonly #seeds = new Map<bigint, PendingSeed>();
  #cellsCount = 0;
  #waitersCount = 0;

  constructor(cellsMax: number) {
    this.#cellsMax = cellsMax;
  }

  get cellsCount(): number {
    return this.#cellsCount;
  }

  get seeds(): readonly bigint[] {
    return [...this.#seeds.keys()];
  }

  has(seed: bigint): boolean {
    return this.#seeds.has(seed);
  }

  /** All of them, or, if too many cells or callers would wait, none: `full`. An empty list waits for nothing. */
  add(all: readonly Update[], waiterOf: (seed: bigint) => Waiter): 'added' | 'full' {
    const updates = all.filter((update) => update.updates.length > 0);
    if (this.#waitersCount + updates.length > this.#cellsMax) return 'full';
    const fresh = new Set<string>();
    for (const { seed, updates: deltas } of updates) {
      const known = this.#seeds.get(seed)?.cells;
      for (const delta of deltas)
        if (known?.has(nameOf(delta)) !== true) fresh.add(`${seed}/${nameOf(delta)}`);
    }
    if (this.#cellsCount + fresh.size > this.#cellsMax) return 'full';
    this.#cellsCount += fresh.size;
    this.#waitersCount += updates.length;
    for (const { seed, updates: deltas } of updates) {
      const pending: PendingSeed = this.#seeds.get(seed) ?? { cells: new Map(), waiters: [] };
      this.#seeds.set(seed, pending);
      for (const delta of deltas) fold(pending.cells, delta);
      pending.waiters.push(waiterOf(seed));
    }
    return 'added';
  }

  take(seed: bigint): PendingBatch | undefined {
    const pending = this.#seeds.get(seed);
    if (pending === undefined) return undefined;
    this.#seeds.delete(seed);
    this.#cellsCount -= pending.cells.size;
    this.#waitersCount -= pending.waiters.length;
    return { deltas: deltasOf([...pending.cells.values()]), waiters: pending.waiters };
  }
}

function fold(cells: Map<string, PendingCell>, delta: BucketDelta): void {
  const { rowId, colId, deltaProb, lastUpdateTimeMs, lo = 0, hi = 1 } = delta;
  const earlier = cells.get(nameOf(delta));
  // Amounts above 2 end at a bound anyway, and the sum of many stays finite.
  const later = { amount: Math.min(2, Math.max(-2, deltaProb)), low: lo, high: hi };
  const { amount, low, high } = earlier === undefined ? later : composeFolds(earlier, later);
  const timeMs = Math.max(earlier?.timeMs ?? 0, lastUpdateTimeMs);
  cells.set(nameOf(delta), { rowId, colId, amount, low, high, timeMs });
}

function deltasOf(cells: readonly PendingCell[]): CellDeltas {
  const deltas = createCellDeltas(cells.length);
  for (const [index, cell] of cells.entries()) {
    deltas.rows[index] = cell.rowId;
    deltas.columns[index] = cell.colId;
    deltas.amounts[index] = cell.amount;
    deltas.timesMs[index] = cell.timeMs;
    deltas.lows[index] = cell.low;
    deltas.highs[index] = cell.high;
  }
  deltas.count = cells.length;
  return deltas;
}

function nameOf({ rowId, colId }: BucketDelta): string {
  return `${rowId}/${colId}`;
}
