// Restores what was written before the last stop or crash: the cells of seeds that are still useful, decayed by
// the wall time since they were written.
//
// Wall time is all that survives a restart. If the clock was set back, cells do not decay; nothing ever rises.
// Unreadable entries, and seeds for which there is no room, are skipped: a missing cell only means that a flow
// is forgotten, which is better than a server that does not start.
import { type Clock, readSound, type Storage, StorageBatch, SynclineError } from '@syncline/kernel';
import { type Cells, createCells } from '../cells.js';
import { decayed } from '../decay.js';
import { fairLimits } from '../limits.js';
import {
  ALL_RECORDS,
  type CellRecord,
  decodeCell,
  decodeNamespace,
  namespaceOfCell,
} from './embedded-records.js';
import type { Namespace } from './fair-store.js';
import { type DefaultSeedUnit, defaultSeedAge, seedAge } from './seed-age.js';

export interface RestoreDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  /** The unit of the default tracker's seeds. */
  readonly defaultSeedUnit: DefaultSeedUnit;
  /**
   * Accepts cells of one seed, at most as many as a message may have. False: there is no room for the seed, and
   * nothing of it is held.
   */
  restore(namespace: Namespace, seed: bigint, cells: Cells): boolean;
}

export interface Restored {
  readonly namespaces: readonly Namespace[];
  /** Seeds on disk that are too old to be useful, or for which there is no room. */
  readonly dropped: readonly { readonly namespace: Namespace; readonly seed: bigint }[];
  readonly cellsCount: number;
  /** Entries that were damaged, or are not ours. They have been removed where they could be. */
  readonly skippedCount: number;
  /** Seeds for which there is no room. */
  readonly crowdedOutCount: number;
}

export async function restoreCells(deps: RestoreDeps): Promise<Restored> {
  const reader = new RecordReader(deps);
  try {
    for await (const { entries, damaged } of readSound(deps.storage, ALL_RECORDS)) {
      for (const { key } of damaged) reader.skip(key);
      for (const { key, value } of entries) reader.read(key, value);
    }
  } catch (thrown) {
    // A damaged block hides everything after it. What was read is still used.
    if (!(thrown instanceof SynclineError) || thrown.code !== 'corrupt') throw thrown;
    reader.skip(undefined);
  }
  return await reader.end();
}

/** A tracker's record comes before its cells, and the cells of a seed come one after another. */
class RecordReader {
  readonly #deps: RestoreDeps;
  readonly #namespaces = new Map<string, Namespace>();
  readonly #dropped = new Map<string, Restored['dropped'][number]>();
  readonly #bad = new StorageBatch();
  readonly #cells = createCells(fairLimits.elementsPerMessageMax.value);
  #open: { readonly namespace: Namespace; readonly seed: bigint } | undefined;
  #cellsCount = 0;
  #skippedCount = 0;
  #crowdedOutCount = 0;

  constructor(deps: RestoreDeps) {
    this.#deps = deps;
  }

  skip(key: Uint8Array | undefined): void {
    this.#skippedCount += 1;
    if (key !== undefined) this.#bad.delete(key);
  }

  read(key: Uint8Array, value: Uint8Array): void {
    const name = namespaceOfCell(key);
    if (name === undefined) {
      const namespace = decodeNamespace(key, value);
      if (namespace === undefined) this.skip(key);
      else this.#namespaces.set(namespace.name, namespace);
      return;
    }
    const namespace = this.#namespaces.get(name);
    const cell = namespace && decodeCell(namespace, key, value);
    if (namespace === undefined || cell === undefined) this.skip(key);
    else this.#take(namespace, cell);
  }

  async end(): Promise<Restored> {
    this.#flush();
    // If the disk cannot be written to they stay, and are skipped again at the next start.
    if (this.#bad.length > 0)
      await this.#deps.storage.write(this.#bad, { durability: 'buffered' }).catch(() => undefined);
    return {
      namespaces: [...this.#namespaces.values()],
      dropped: [...this.#dropped.values()],
      cellsCount: this.#cellsCount,
      skippedCount: this.#skippedCount,
      crowdedOutCount: this.#crowdedOutCount,
    };
  }

  #take(namespace: Namespace, cell: CellRecord): void {
    const { seed } = cell;
    const nowMs = this.#deps.clock.nowMs();
    if (!this.#isLive(namespace, seed, nowMs)) {
      this.#drop(namespace, seed);
      return;
    }
    const isSame = this.#open?.namespace === namespace && this.#open.seed === seed;
    if (!isSame || this.#cells.count === this.#cells.rows.length) this.#flush();
    if (this.#dropped.has(`${namespace.name}/${seed}`)) return;
    this.#open = { namespace, seed };
    const at = this.#cells.count;
    this.#cells.rows[at] = cell.row;
    this.#cells.columns[at] = cell.column;
    this.#cells.probabilities[at] = aged(namespace, cell, nowMs);
    this.#cells.timesMs[at] = cell.timeMs;
    this.#cells.count += 1;
  }

  #flush(): void {
    if (this.#open === undefined || this.#cells.count === 0) return;
    const { namespace, seed } = this.#open;
    if (this.#deps.restore(namespace, seed, this.#cells)) {
      this.#cellsCount += this.#cells.count;
    } else {
      this.#crowdedOutCount += 1;
      this.#drop(namespace, seed);
    }
    this.#cells.count = 0;
  }

  #drop(namespace: Namespace, seed: bigint): void {
    this.#dropped.set(`${namespace.name}/${seed}`, { namespace, seed });
  }

  #isLive({ rule, windowMs }: Namespace, seed: bigint, nowMs: number): boolean {
    if (rule.policy !== 'sum') return seedAge(Number(seed), windowMs, nowMs) === 'live';
    const { defaultSeedUnit: unit } = this.#deps;
    return defaultSeedAge(seed, { windowMs, unit }, nowMs) !== 'evicted';
  }
}

function aged({ rule }: Namespace, { probability, timeMs }: CellRecord, nowMs: number): number {
  return rule.policy === 'sum' ? probability : decayed(rule, probability, nowMs - timeMs);
}
