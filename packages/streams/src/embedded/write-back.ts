// The unflushed changes of one embedded state, and how a flush stores them.
//
// A flush captures the list of dirty cells in O(1) and writes it in slices, in one batch with those of the other
// states. A cell that is written to during the flush keeps both the captured change and the new one. Once the batch is
// stored, the captured cells are clean; if it failed, they are dirty again.
//
// X23  The storage holds the state as of a single moment, that of the last flush that was written.
import { assert, type StorageBatch } from '@syncline/kernel';
import { entryChecksum } from '../snapshot/entry.js';
import { SliceBudget } from '../state/cells.js';
import type { Key } from '../state/key.js';
import type { StateSchema } from '../state/state-schema.js';
import {
  type CellCache,
  type Change,
  type EmbeddedCell,
  NOT_STORED,
  type Pending,
} from './cell-cache.js';
import {
  encodeTable,
  putEntry,
  putTombstone,
  type StoredKeys,
  type StoredTable,
} from './stored-layout.js';

/** Heap overhead of a cell and of a pending change, not counting their content. Measured, then rounded up. */
export const CELL_BYTES = 300;
export const PENDING_BYTES = 300;

/** The newest unflushed entry of a key, or undefined if the key is removed. */
export type Changes = ReadonlyMap<Key, Uint8Array | undefined>;

export class WriteBack<V, Ver> {
  readonly #schema: StateSchema<V, Ver>;
  readonly #keys: StoredKeys;
  readonly #cache: CellCache<V, Ver>;
  /** Describes the entries in the storage. */
  #table: StoredTable;
  /** Cells with a pending change, each once. */
  #dirty: EmbeddedCell<V, Ver>[] = [];
  /** Cells whose change a flush is storing. */
  #captured: EmbeddedCell<V, Ver>[] = [];
  /** Distinguishes pending changes from captured ones. */
  #layer = 0;
  #pendingBytes = 0;

  constructor(
    schema: StateSchema<V, Ver>,
    keys: StoredKeys,
    cache: CellCache<V, Ver>,
    table: StoredTable,
  ) {
    this.#schema = schema;
    this.#keys = keys;
    this.#cache = cache;
    this.#table = table;
  }

  get isEmpty(): boolean {
    return this.#dirty.length === 0;
  }

  /** Cache cost of the changes that are not captured yet. None of it can be evicted. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  changes(): Changes {
    const changes = new Map<Key, Uint8Array | undefined>();
    for (const cells of [this.#captured, this.#dirty]) {
      for (const { key, pending } of cells) {
        if (pending !== undefined) changes.set(key, pending.bytes);
      }
    }
    return changes;
  }

  /**
   * Adds a change to a cell and caches the cell. Returns false and changes nothing if other unflushed changes leave
   * no room.
   */
  add(cell: EmbeddedCell<V, Ver>, { bytes, isTombstone, version }: Change<Ver>): boolean {
    const { budget } = this.#cache;
    const before = cell.pending;
    const isReplaced = before?.layer === this.#layer;
    const isCached = cell.place !== -1;
    const cellBytes = CELL_BYTES + 2 * (bytes?.length ?? 0);
    const costBytes = PENDING_BYTES + (bytes?.length ?? 0);
    const freedBytes = (isCached ? cell.costBytes : 0) + (isReplaced ? before.costBytes : 0);
    const layer = this.#layer;
    cell.pending = { bytes, isTombstone, version, costBytes, layer, checksum: 0 };
    if (isCached && before === undefined) this.#cache.pin();
    if (!budget.makeRoom(cellBytes + costBytes - freedBytes)) {
      if (isCached && before === undefined) this.#cache.unpin();
      cell.pending = before;
      return false;
    }
    budget.count(costBytes - freedBytes);
    if (isCached) budget.count(cellBytes);
    else this.#cache.add(cell, cellBytes);
    cell.costBytes = cellBytes;
    this.#pendingBytes += cellBytes + costBytes - (isReplaced ? freedBytes : 0);
    if (!isReplaced) {
      cell.superseded = before;
      this.#dirty.push(cell);
    }
    return true;
  }

  /** Captures the dirty cells in O(1). Later writes belong to the next capture. */
  capture(): void {
    assert(this.#captured.length === 0, 'one capture at a time');
    this.#captured = this.#dirty;
    this.#dirty = [];
    this.#pendingBytes = 0;
    this.#layer += 1;
  }

  /** Adds the captured changes to a batch, in slices. Returns the table that describes the storage afterwards. */
  *fill(batch: StorageBatch): Generator<void, StoredTable> {
    const table = this.#table.copy();
    const budget = new SliceBudget();
    for (const cell of this.#captured) {
      const change = capturedChange(cell);
      const { storageKey, group } = this.#keys.entry(cell.key);
      if (cell.stored !== NOT_STORED) table.subtract(group, cell.stored);
      if (change.bytes !== undefined) {
        change.checksum = entryChecksum(change.bytes);
        table.add(group, change.checksum);
        putEntry(batch, storageKey, change.bytes, change.checksum);
      } else if (cell.stored !== NOT_STORED) {
        batch.delete(storageKey);
      }
      const { isTombstone, version } = change;
      if (isTombstone) putTombstone(batch, this.#schema, this.#keys, { key: cell.key, version });
      else if (cell.isStoredTombstone) batch.delete(this.#keys.tombstone(cell.key));
      if (budget.spend(1, change.costBytes)) yield;
    }
    batch.put(this.#keys.table, encodeTable(this.#schema, table));
    return table;
  }

  /** The batch is stored: marks captured cells as clean, unless they have changed since. Runs in slices. */
  *settle(table: StoredTable): Generator<void, void> {
    const budget = new SliceBudget();
    for (const cell of this.#captured) {
      const change = capturedChange(cell);
      cell.stored = change.bytes === undefined ? NOT_STORED : change.checksum;
      cell.isStoredTombstone = change.isTombstone;
      this.#cache.budget.count(-change.costBytes);
      if (cell.superseded === undefined) {
        cell.pending = undefined;
        this.#cache.unpin();
        if (cell.isAbsent) this.#cache.drop(cell);
      }
      cell.superseded = undefined;
      if (budget.spend(1, 0)) yield;
    }
    this.#captured = [];
    this.#table = table;
  }

  /** The batch was not stored: captured cells are dirty again, unless they have changed since. */
  abandon(): void {
    for (const cell of this.#captured) {
      const change = capturedChange(cell);
      if (cell.superseded === undefined) {
        change.layer = this.#layer;
        this.#dirty.push(cell);
      } else {
        this.#cache.budget.count(-change.costBytes);
        cell.superseded = undefined;
      }
    }
    this.#captured = [];
  }

  /** Drops all cells and changes, after the stored state was replaced by what `table` describes. */
  forget(table: StoredTable): void {
    assert(this.#captured.length === 0, 'nothing is being flushed');
    for (const { pending } of this.#dirty) this.#cache.budget.count(-(pending?.costBytes ?? 0));
    this.#dirty = [];
    this.#cache.clear();
    this.#table = table;
  }
}

/** The change that the flush in progress stores for a cell. */
function capturedChange<V, Ver>(cell: EmbeddedCell<V, Ver>): Pending<Ver> {
  const change = cell.superseded ?? cell.pending;
  assert(change !== undefined, 'a captured cell has a change');
  return change;
}
