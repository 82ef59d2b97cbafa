// The buckets of the storage service: the checks of what it accepts, and the two queues, towards Redis and towards
// `recv`. Both hold one entry per cell, so traffic cannot make them grow.
import { abortedError, SynclineError } from '@syncline/kernel';
import { refuseUnless } from '@syncline/kernel/checks';
import {
  type CellDeltas,
  type Cells,
  composeFolds,
  createCellDeltas,
  type Fold,
} from '../cells.js';

/** A change of a cell: its probability becomes min(hi, max(lo, probability + deltaProb)). */
export interface BucketDelta {
  readonly rowId: number;
  readonly colId: number;
  readonly deltaProb: number;
  readonly lastUpdateTimeMs: number;
  /** Default 0. */
  readonly lo?: number;
  /** Default 1. */
  readonly hi?: number;
}

export interface Update {
  readonly seed: bigint;
  readonly updates: readonly BucketDelta[];
}

/** The current value of a cell. */
export interface OverwriteBucket {
  readonly rowId: number;
  readonly colId: number;
  readonly prob: number;
  readonly lastUpdateTimeMs: number;
}

export interface RespBucket {
  readonly seed: bigint;
  /** The seed as a time: it counts milliseconds. */
  readonly startUtcNs: bigint;
  readonly updates: OverwriteBucket[];
}

export function bucketsOf({ count, rows, columns, probabilities, timesMs }: Cells) {
  return Array.from(
    { length: count },
    (_, index): OverwriteBucket => ({
      rowId: rows[index] ?? 0,
      colId: columns[index] ?? 0,
      prob: probabilities[index] ?? 0,
      lastUpdateTimeMs: timesMs[index] ?? 0,
    }),
  );
}

/** Throws `invalid-argument`, before anything is accepted. */
export function checkUpdates(updates: readonly Update[]): void {
  for (const [index, { seed, updates: deltas }] of updates.entries()) {
    const where = `updates[${index}]`;
    refuseUnless(seed >= 0n && seed < 2n ** 64n, `${where}.seed`, {
      value: seed,
      wanted: '0 to 2^64 - 1',
    });
    for (const [at, delta] of deltas.entries()) checkDelta(`${where}.updates[${at}]`, delta);
  }
}

function checkDelta(where: string, delta: BucketDelta): void {
  const { deltaProb, lo = 0, hi = 1 } = delta;
  for (const field of ['rowId', 'colId', 'lastUpdateTimeMs'] as const) {
    const value = delta[field];
    const isId = Number.isSafeInteger(value) && value >= 0;
    refuseUnless(isId, `${where}.${field}`, { value, wanted: 'an integer from 0 to 2^53 - 1' });
  }
  refuseUnless(Number.isFinite(deltaProb), `${where}.deltaProb`, {
    value: deltaProb,
    wanted: 'a finite number',
  });
  refuseUnless(lo >= 0 && lo <= 1, `${where}.lo`, { value: lo, wanted: '0 to 1' });
  refuseUnless(hi >= lo && hi <= 1, `${where}.hi`, { value: hi, wanted: `lo (${lo}) to 1` });
}

// What `recv` returns: the latest value of each cell, until it is taken. One waiter at a time. A slow receiver
// loses the oldest seed and still gets the newer ones.

const NS_PER_MS = 1_000_000n;
/** Seeds without cells take room too. */
const SEEDS_MAX = 64;

export class ReceivedBuckets {
  readonly #cellsMax: number;
  readonly #onDropped: (cellsCount: number) => void;
  readonly #seeds = new Map<bigint, Map<string, OverwriteBucket>>();
  #waiter: { resolve(): void; reject(error: SynclineError): void } | undefined;
  #cellsCount = 0;
  #isClosed = false;

  constructor(cellsMax: number, onDropped: (cellsCount: number) => void) {
    this.#cellsMax = cellsMax;
    this.#onDropped = onDropped;
  }

  /** An empty list counts too: a fetch of a seed that has no cells is answered. */
  put(seed: bigint, buckets: readonly OverwriteBucket[]): void {
    const cells = this.#seeds.get(seed) ?? new Map<string, OverwriteBucket>();
    this.#seeds.set(seed, cells);
    const before = cells.size;
    for (const bucket of buckets) cells.set(`${bucket.rowId}/${bucket.colId}`, bucket);
    this.#cellsCount += cells.size - before;
    const cellsCount = this.#cellsCount;
    this.#dropOldest(seed);
    if (this.#cellsCount < cellsCount) this.#onDropped(cellsCount - this.#cellsCount);
    this.#waiter?.resolve();
  }

  /** Waits until there is something, and takes all of it. */
  async take(signal?: AbortSignal): Promise<RespBucket[]> {
    if (this.#waiter !== undefined)
      throw new SynclineError(
        'conflict',
        'recv is already waiting; call it again when it has returned',
        {
          details: { reason: 'waiting' },
        },
      );
    if (this.#seeds.size === 0) await this.#arrival(signal);
    const all = [...this.#seeds].map(([seed, cells]) => ({
      seed,
      startUtcNs: seed * NS_PER_MS,
      updates: [...cells.values()],
    }));
    this.#seeds.clear();
    this.#cellsCount = 0;
    return all;
  }

  close(): void {
    this.#isClosed = true;
    this.#seeds.clear();
    this.#waiter?.reject(closedError());
  }

  async #arrival(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isClosed) throw closedError();
    if (signal?.aborted === true) throw abortedError('recv', signal);
    let onAbort: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiter = { resolve, reject };
        onAbort = () => signal && reject(abortedError('recv', signal));
        signal?.addEventListener('abort', onAbort);
      });
    } finally {
      this.#waiter = undefined;
      if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Other seeds first, from the lowest; then the longest unchanged cells of the one that just grew. */
  #dropOldest(grown: bigint): void {
    const others = [...this.#seeds.keys()].filter((seed) => seed !== grown);
    for (const seed of others.sort((left, right) => (left < right ? -1 : 1))) {
      if (this.#cellsCount <= this.#cellsMax && this.#seeds.size <= SEEDS_MAX) return;
      this.#cellsCount -= this.#seeds.get(seed)?.size ?? 0;
      this.#seeds.delete(seed);
    }
    const cells = this.#seeds.get(grown);
    for (const name of cells?.keys() ?? []) {
      if (this.#cellsCount <= this.#cellsMax) return;
      cells?.delete(name);
      this.#cellsCount -= 1;
    }
  }
}

export function closedError(): SynclineError {
  return new SynclineError('closed', 'the storage service was closed');
}

// Changes waiting for Redis: one fold per cell, however many changes it had, and never more cells than the
// limit. A batch being sent is removed from here, together with its waiters.

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
