// Brings back what was written before the last stop or crash: the cells of seeds that are still of use,
// aged by the wall time that passed since they were written.
//
// Wall time is all that survives a restart. If the clock was set back meanwhile, cells have not aged;
// nothing ever rises. What cannot be read is left out: a missing cell means that a flow is forgotten.
import { type Clock, type Storage, StorageBatch, SynclineError } from '@syncline/kernel';
import { type Cells, createCells } from '../cells.js';
import { decayed } from '../decay.js';
import { fairLimits } from '../limits.js';
import { readSound } from './embedded-reads.js';
import {
  ALL_RECORDS,
  type CellRecord,
  decodeCell,
  decodeNamespace,
  namespaceOfCell,
} from './embedded-records.js';
import type { Namespace } from './fair-store.js';

export interface RestoreDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  /** Takes cells of one seed, at most as many as a message may have. */
  restore(namespace: Namespace, seed: bigint, cells: Cells): void;
}

export interface Restored {
  readonly namespaces: readonly Namespace[];
  /** Seeds on disk that are too old to be of use. */
  readonly expired: readonly { readonly namespace: Namespace; readonly seed: bigint }[];
  readonly cellsCount: number;
  /** Entries that were damaged, or are not ours. They have been removed where they could be. */
  readonly skippedCount: number;
}

export async function restoreCells(deps: RestoreDeps): Promise<Restored> {
  const reader = new RecordReader(deps);
  try {
    for await (const { entries, corruptKeys } of readSound(deps.storage, ALL_RECORDS)) {
      for (const key of corruptKeys) reader.skip(key);
      for (const { key, value } of entries) reader.read(key, value);
    }
  } catch (thrown) {
    // A damaged block hides all behind it. What was read is still worth having.
    if (!(thrown instanceof SynclineError) || thrown.code !== 'corrupt') throw thrown;
    reader.skip(undefined);
  }
  return await reader.end();
}

/** A tracker's record comes before its cells, and the cells of a seed come one after another. */
class RecordReader {
  readonly #deps: RestoreDeps;
  readonly #namespaces = new Map<string, Namespace>();
  readonly #expired = new Map<string, Restored['expired'][number]>();
  readonly #bad = new StorageBatch();
  readonly #cells = createCells(fairLimits.elementsPerMessageMax.value);
  #open: { readonly namespace: Namespace; readonly seed: bigint } | undefined;
  #cellsCount = 0;
  #skippedCount = 0;

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
    // A disk that takes no writes keeps them, and they are skipped again at the next start.
    if (this.#bad.operations.length > 0)
      await this.#deps.storage.write(this.#bad, { durability: 'buffered' }).catch(() => undefined);
    return {
      namespaces: [...this.#namespaces.values()],
      expired: [...this.#expired.values()],
      cellsCount: this.#cellsCount,
      skippedCount: this.#skippedCount,
    };
  }

  #take(namespace: Namespace, cell: CellRecord): void {
    const { seed } = cell;
    const nowMs = this.#deps.clock.nowMs();
    if (!isLive(namespace, seed, nowMs)) {
      this.#expired.set(`${namespace.name}/${seed}`, { namespace, seed });
      return;
    }
    const isSame = this.#open?.namespace === namespace && this.#open.seed === seed;
    if (!isSame || this.#cells.count === this.#cells.rows.length) this.#flush();
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
    this.#deps.restore(this.#open.namespace, this.#open.seed, this.#cells);
    this.#cellsCount += this.#cells.count;
    this.#cells.count = 0;
  }
}

/** The default namespace has seeds of several units, which the service tells apart and evicts. */
function isLive({ rule, windowMs }: Namespace, seed: bigint, nowMs: number): boolean {
  if (rule.policy === 'sum') return true;
  return seed >= BigInt(nowMs - 3 * windowMs) && seed <= BigInt(nowMs + windowMs);
}

function aged({ rule }: Namespace, { probability, timeMs }: CellRecord, nowMs: number): number {
  return rule.policy === 'sum' ? probability : decayed(rule, probability, nowMs - timeMs);
}
