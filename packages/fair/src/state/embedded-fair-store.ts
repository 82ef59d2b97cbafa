// Shared cells in memory that survive a restart: the memory store, with changes written in the background
// (embedded-writer.ts) and read back at startup (embedded-restore.ts). No request waits for the disk.
//
// Cells that were read back belong to a tracker that has not sent its hello yet. Their record describes them,
// so that they decay in the meantime; if the tracker returns with another shape, policy, rate or window, they
// are meaningless and are dropped. If it never returns they are dropped with their windows.
//
// F50  A restart gives every cell the value that was last written, minus decay, and never more than that.
import {
  type Clock,
  type Logger,
  type Metrics,
  type Storage,
  SynclineError,
} from '@syncline/kernel';
import { type CellDeltas, type Cells, createCellDeltas } from '../cells.js';
import type { FairMetricName } from '../metrics-list.js';
import { isSameMeaning } from './embedded-records.js';
import { type Restored, restoreCells } from './embedded-restore.js';
import { EmbeddedWriter } from './embedded-writer.js';
import type { Applied, ChangeId, FairStore, Namespace, SeedInfo } from './fair-store.js';
import { createMemoryFairStore, type MemoryFairStore } from './memory-fair-store.js';
import { type DefaultSeedUnit, evictionBound } from './seed-age.js';

export interface EmbeddedFairStoreDeps {
  /** Used by this store alone, but not closed with it. */
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics<FairMetricName>;
}

export interface EmbeddedFairStoreOptions {
  /** The setting of the service, so that seeds which it would evict are not read back. Default `auto`. */
  readonly defaultSeedUnit?: DefaultSeedUnit;
}

/** Resolves when everything is back in memory. */
export async function createEmbeddedFairStore(
  deps: EmbeddedFairStoreDeps,
  { defaultSeedUnit = 'auto' }: EmbeddedFairStoreOptions = {},
): Promise<FairStore> {
  const memory = createMemoryFairStore(deps);
  const restored = await restoreCells({
    ...deps,
    defaultSeedUnit,
    restore: (namespace, seed, cells) => restoreInto(memory, namespace, seed, cells),
  });
  const { cellsCount, skippedCount, crowdedOutCount, namespaces } = restored;
  if (skippedCount > 0) {
    deps.metrics.add('syncline_fair_store_errors_total', skippedCount, { store: 'embedded' });
    deps.logger.warn('damaged entries of the fair store skipped', { skippedCount });
  }
  if (crowdedOutCount > 0) {
    deps.metrics.add('syncline_fair_store_errors_total', crowdedOutCount, { store: 'embedded' });
    deps.logger.warn('the fair store contains more seeds than allowed; some were skipped', {
      seeds: crowdedOutCount,
    });
  }
  if (cellsCount > 0)
    deps.logger.info('fair state restored', { cells: cellsCount, trackers: namespaces.length });
  return new EmbeddedFairStore(deps, memory, restored);
}

class EmbeddedFairStore implements FairStore {
  readonly #clock: Clock;
  readonly #memory: MemoryFairStore;
  readonly #writer: EmbeddedWriter;
  /** The description of the cells of a name, on disk and in memory. */
  readonly #namespaces = new Map<string, Namespace>();
  /** Read back, and not used since: nothing else evicts their seeds. */
  readonly #waiting = new Set<Namespace>();

  constructor(deps: EmbeddedFairStoreDeps, memory: MemoryFairStore, restored: Restored) {
    this.#clock = deps.clock;
    this.#memory = memory;
    this.#writer = new EmbeddedWriter({
      ...deps,
      readCells: (namespace, seed) => memory.getSeed(namespace, seed),
      hasCells: (namespace) => memory.seeds(namespace).length > 0,
      beforeRound: () => this.#evictWaiting(),
      onIdle: (namespace) => this.#forgetIdle(namespace),
    });
    for (const namespace of restored.namespaces) {
      this.#namespaces.set(namespace.name, namespace);
      this.#waiting.add(namespace);
      this.#writer.recorded(namespace);
    }
    for (const { namespace, seed } of restored.dropped) this.#writer.drop(namespace, seed);
  }

  applyDelta(namespace: Namespace, seed: bigint, deltas: CellDeltas, id?: ChangeId): Applied {
    this.#use(namespace);
    return this.#changed(namespace, this.#memory.applyDelta(namespace, seed, deltas, id));
  }

  joinView(namespace: Namespace, seed: bigint, cells: Cells): Applied {
    this.#use(namespace);
    return this.#changed(namespace, this.#memory.joinView(namespace, seed, cells));
  }

  getSeed(namespace: Namespace, seed: bigint): Cells {
    this.#use(namespace);
    return this.#memory.getSeed(namespace, seed);
  }

  evictBefore(namespace: Namespace, seed: bigint): number {
    this.#use(namespace);
    return this.#evict(namespace, seed);
  }

  seeds(namespace: Namespace): readonly SeedInfo[] {
    this.#use(namespace);
    return this.#memory.seeds(namespace);
  }

  forget(namespace: Namespace, seed: bigint): void {
    this.#use(namespace);
    this.#drop(namespace, seed);
  }

  async close(): Promise<void> {
    await this.#writer.close();
    await this.#memory.close();
  }

  #changed(namespace: Namespace, applied: Applied): Applied {
    if (applied.cells.count === 0) return applied;
    this.#namespaces.set(namespace.name, namespace);
    this.#writer.mark(namespace, applied.seed, applied.cells);
    return applied;
  }

  /** Ensures that existing cells of this name match the caller's description. */
  #use(namespace: Namespace): void {
    const { name } = namespace;
    const known = this.#namespaces.get(name);
    if (known === namespace || known === undefined) return;
    this.#waiting.delete(known);
    if (isSameMeaning(known, namespace)) {
      this.#namespaces.set(name, namespace);
      this.#writer.adopt(namespace);
      return;
    }
    this.#namespaces.delete(name);
    for (const { seed } of this.#memory.seeds(known)) this.#drop(known, seed);
  }

  #drop(namespace: Namespace, seed: bigint): void {
    this.#memory.forget(namespace, seed);
    this.#writer.drop(namespace, seed);
  }

  #evict(namespace: Namespace, before: bigint): number {
    for (const { seed } of this.#memory.seeds(namespace))
      if (seed < before) this.#writer.drop(namespace, seed);
    return this.#memory.evictBefore(namespace, before);
  }

  #forgetIdle(namespace: Namespace): void {
    this.#waiting.delete(namespace);
    if (this.#namespaces.get(namespace.name) === namespace) this.#namespaces.delete(namespace.name);
  }

  #evictWaiting(): void {
    for (const namespace of this.#waiting) {
      if (namespace.rule.policy === 'sum') continue; // its service evicts from the start
      this.#evict(namespace, evictionBound(namespace.windowMs, this.#clock.nowMs()));
    }
  }
}

/** False: there is no room. Cells of the seed already held are dropped too, since half a seed is useless. */
function restoreInto(
  memory: MemoryFairStore,
  namespace: Namespace,
  seed: bigint,
  cells: Cells,
): boolean {
  try {
    putInto(memory, namespace, seed, cells);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof SynclineError) || thrown.code !== 'limit-exceeded') throw thrown;
    memory.forget(namespace, seed);
    return false;
  }
}

/** A view would leave out cells at 0, which the default tracker reports. */
function putInto(memory: MemoryFairStore, namespace: Namespace, seed: bigint, cells: Cells): void {
  if (namespace.rule.policy !== 'sum') {
    memory.joinView(namespace, seed, cells);
    return;
  }
  const deltas = createCellDeltas(cells.count);
  deltas.highs.fill(1);
  const amounts = cells.probabilities;
  memory.applyDelta(namespace, seed, { ...deltas, ...cells, amounts });
}
