// Shared cells in memory: the store of a service without a disk, and the base of the embedded store. It answers
// synchronously.
//
// The default tracker accepts any seed, row and column from anyone, so its size is limited; a message that
// would exceed a limit is refused before any of it is applied. Named trackers are limited by their shape.
import { type Clock, SynclineError } from '@syncline/kernel';
import { type CellDeltas, type Cells, NO_CELLS } from '../cells.js';
import { fairLimits } from '../limits.js';
import type { Applied, ChangeId, FairStore, Namespace, SeedInfo } from './fair-store.js';
import { MemorySeed, type StoreTimes } from './memory-seed.js';

export interface MemoryFairStoreDeps {
  readonly clock: Clock;
}

/** The store, with synchronous results. */
export interface MemoryFairStore extends FairStore {
  applyDelta(namespace: Namespace, seed: bigint, deltas: CellDeltas, id?: ChangeId): Applied;
  joinView(namespace: Namespace, seed: bigint, cells: Cells): Applied;
  getSeed(namespace: Namespace, seed: bigint): Cells;
  evictBefore(namespace: Namespace, seed: bigint): number;
  seeds(namespace: Namespace): readonly SeedInfo[];
  forget(namespace: Namespace, seed: bigint): void;
}

export function createMemoryFairStore(deps: MemoryFairStoreDeps): MemoryFairStore {
  return new SeedsInMemory(deps.clock);
}

class SeedsInMemory implements MemoryFairStore {
  readonly #clock: Clock;
  readonly #namespaces = new Map<string, Map<bigint, MemorySeed>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  applyDelta(namespace: Namespace, seed: bigint, deltas: CellDeltas, id?: ChangeId): Applied {
    const times = this.#times();
    const memory = this.#open(namespace, seed, deltas);
    if (id !== undefined && !memory.accept(id)) {
      return { result: 'duplicate', seed, cells: NO_CELLS };
    }
    memory.changedAtMs = times.monotonicMs;
    return { result: 'applied', seed, cells: memory.apply(deltas, times) };
  }

  joinView(namespace: Namespace, seed: bigint, cells: Cells): Applied {
    const times = this.#times();
    const memory = this.#open(namespace, seed, cells);
    memory.changedAtMs = times.monotonicMs;
    return { result: 'applied', seed, cells: memory.join(cells, times) };
  }

  getSeed(namespace: Namespace, seed: bigint): Cells {
    return this.#namespaces.get(namespace.name)?.get(seed)?.read(this.#times()) ?? NO_CELLS;
  }

  evictBefore(namespace: Namespace, seed: bigint): number {
    const seeds = this.#namespaces.get(namespace.name) ?? new Map<bigint, MemorySeed>();
    let cellsCount = 0;
    for (const [held, memory] of seeds) {
      if (held >= seed) continue;
      cellsCount += memory.cellsCount;
      seeds.delete(held);
    }
    if (seeds.size === 0) this.#namespaces.delete(namespace.name);
    return cellsCount;
  }

  seeds(namespace: Namespace): readonly SeedInfo[] {
    const { monotonicMs } = this.#times();
    return Array.from(this.#namespaces.get(namespace.name) ?? [], ([seed, memory]) => ({
      seed,
      cellsCount: memory.cellsCount,
      idleMs: monotonicMs - memory.changedAtMs,
    }));
  }

  forget(namespace: Namespace, seed: bigint): void {
    this.#namespaces.get(namespace.name)?.delete(seed);
  }

  async close(): Promise<void> {
    this.#namespaces.clear();
  }

  #times(): StoreTimes {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.nowMs() };
  }

  /** The seed to change. Throws before anything is changed when there is no room. */
  #open(namespace: Namespace, seed: bigint, changes: CellDeltas | Cells): MemorySeed {
    const seeds = this.#namespaces.get(namespace.name) ?? new Map<bigint, MemorySeed>();
    const memory = seeds.get(seed) ?? new MemorySeed(namespace, this.#clock.monotonicMs());
    if (namespace.shape === undefined) checkRoom(seeds, seed, memory, changes);
    seeds.set(seed, memory);
    this.#namespaces.set(namespace.name, seeds);
    return memory;
  }
}

function checkRoom(
  seeds: ReadonlyMap<bigint, MemorySeed>,
  seed: bigint,
  memory: MemorySeed,
  changes: CellDeltas | Cells,
): void {
  const { defaultSeedsMax, defaultCellsMax } = fairLimits;
  if (!seeds.has(seed) && seeds.size >= defaultSeedsMax.value) {
    throw new SynclineError(
      'limit-exceeded',
      `seed ${seed} cannot be added: the default tracker is limited to ${defaultSeedsMax.value} seeds. Seeds are dropped 3 windows after their last change; use a named tracker, or fewer seeds.`,
      { details: { limit: 'defaultSeedsMax', limitValue: defaultSeedsMax.value } },
    );
  }
  let cellsCount = changes.count;
  for (const held of seeds.values()) cellsCount += held.cellsCount;
  if (cellsCount <= defaultCellsMax.value) return;
  cellsCount += memory.countNew(changes) - changes.count; // most changes are of existing cells
  if (cellsCount <= defaultCellsMax.value) return;
  throw new SynclineError(
    'limit-exceeded',
    `the default tracker would hold ${cellsCount} cells, more than ${defaultCellsMax.value}. Use fewer rows and columns, or a named tracker.`,
    { details: { limit: 'defaultCellsMax', limitValue: defaultCellsMax.value } },
  );
}
