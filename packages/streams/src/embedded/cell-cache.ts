// The cells that an embedded state keeps in memory, within a budget shared by all states of a store.
//
// A cell whose changes are stored is clean and may be evicted at any time; a dirty one is pinned until a flush has
// stored it. Eviction is CLOCK: it cycles through all cells and spares those used since its last pass. Costs are
// estimated heap bytes.
//
// X25  Cells and unflushed changes together never cost more than `bytesMax`.
import { assert } from '@syncline/kernel';
import type { Key } from '../state/key.js';

export const NOT_STORED = -1;

export interface Change<Ver> {
  /** The new entry, or undefined if the key is removed. Flushes and snapshots share it, so never modify it. */
  readonly bytes: Uint8Array | undefined;
  readonly isTombstone: boolean;
  readonly version: Ver;
}

/** A change that has not been stored yet. */
export interface Pending<Ver> extends Change<Ver> {
  readonly costBytes: number;
  /** The capture it belongs to. */
  layer: number;
  /** Set when the change is written to a batch. */
  checksum: number;
}

export class EmbeddedCell<V, Ver> {
  readonly key: Key;
  value: V | undefined;
  version: Ver;
  /** The key has no value and no tombstone; the cell masks what is still stored. */
  isAbsent = false;
  /** The newest change that is not stored yet. Undefined if the cell is clean. */
  pending: Pending<Ver> | undefined;
  /** The change that a flush is storing while a newer one is pending. */
  superseded: Pending<Ver> | undefined;
  /** Checksum of the stored entry. */
  stored = NOT_STORED;
  isStoredTombstone = false;
  /** Whether the cell was used since the last pass of eviction. */
  isUsed = false;
  costBytes = 0;
  /** Its index in the cache, or -1. */
  place = -1;

  constructor(key: Key, value: V | undefined, version: Ver) {
    this.key = key;
    this.value = value;
    this.version = version;
  }
}

interface CacheUser {
  evictOne(): boolean;
}

/** The memory budget shared by all states of a store. */
export class CacheBudget {
  readonly bytesMax: number;
  readonly #users: CacheUser[] = [];
  #bytes = 0;
  #turn = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  join(user: CacheUser): void {
    this.#users.push(user);
  }

  /** Adds bytes that `makeRoom` made room for, or, if negative, releases them. */
  count(bytes: number): void {
    this.#bytes += bytes;
    assert(this.#bytes >= 0 && (bytes <= 0 || this.#bytes <= this.bytesMax), 'X25');
  }

  /** Evicts until there is room for `bytes` more. Returns false if only dirty cells are left. */
  makeRoom(bytes: number): boolean {
    let emptyHanded = 0;
    while (this.#bytes + bytes > this.bytesMax && emptyHanded < this.#users.length) {
      this.#turn = (this.#turn + 1) % this.#users.length;
      emptyHanded = this.#users[this.#turn]?.evictOne() === true ? 0 : emptyHanded + 1;
    }
    return this.#bytes + bytes <= this.bytesMax;
  }
}

/** The cells of one state. Code that makes a cached cell dirty must pin it, and unpin it once it is clean. */
export class CellCache<V, Ver> {
  readonly budget: CacheBudget;
  readonly #cells = new Map<Key, EmbeddedCell<V, Ver>>();
  /** The same cells in no particular order, for eviction to cycle through. */
  readonly #ring: EmbeddedCell<V, Ver>[] = [];
  #hand = 0;
  #pinned = 0;

  constructor(budget: CacheBudget) {
    this.budget = budget;
    budget.join(this);
  }

  get(key: Key): EmbeddedCell<V, Ver> | undefined {
    return this.#cells.get(key);
  }

  /** Adds a cell. The caller has made room for its cost. */
  add(cell: EmbeddedCell<V, Ver>, costBytes: number): void {
    this.budget.count(costBytes);
    cell.costBytes = costBytes;
    cell.place = this.#ring.push(cell) - 1;
    this.#cells.set(cell.key, cell);
    if (cell.pending !== undefined) this.#pinned += 1;
  }

  pin(): void {
    this.#pinned += 1;
  }

  unpin(): void {
    this.#pinned -= 1;
  }

  evictOne(): boolean {
    while (this.#ring.length > this.#pinned) {
      this.#hand = (this.#hand + 1) % this.#ring.length;
      const cell = this.#ring[this.#hand];
      assert(cell !== undefined, 'the hand is on the ring');
      if (cell.pending !== undefined) continue;
      if (cell.isUsed) cell.isUsed = false;
      else {
        this.drop(cell);
        return true;
      }
    }
    return false;
  }

  /** Removes a clean cell. */
  drop(cell: EmbeddedCell<V, Ver>): void {
    const last = this.#ring.pop();
    assert(last !== undefined && cell.place >= 0, 'the cell is cached');
    if (last !== cell) {
      this.#ring[cell.place] = last;
      last.place = cell.place;
    }
    cell.place = -1;
    this.#cells.delete(cell.key);
    this.budget.count(-cell.costBytes);
  }

  clear(): void {
    for (const { costBytes } of this.#ring) this.budget.count(-costBytes);
    this.#cells.clear();
    this.#ring.length = 0;
    this.#hand = 0;
    this.#pinned = 0;
  }
}
