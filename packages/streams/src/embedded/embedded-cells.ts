// Cells of one state in a Storage, one entry per key, with a write-back cache in front.
//
// Reads go to the cache, then to `Storage.get`, so the state may be larger than the heap, and opening it loads only the
// tombstones. A write encodes its entry immediately: a bad value is detected while its record is known, and the size of
// the unflushed changes is exact. write-back.ts stores them later.
import { assert, type Storage, type StorageBatch } from '@syncline/kernel';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { type Entry, writeEntry } from '../snapshot/entry.js';
import type { Cells, Turns } from '../state/cells.js';
import { checkKey, type Key } from '../state/key.js';
import { limitExceeded } from '../state/state-error.js';
import type { StateSchema } from '../state/state-schema.js';
import { type CacheBudget, CellCache, EmbeddedCell } from './cell-cache.js';
import {
  fillRestore,
  type SnapshotSource,
  snapshotAll,
  snapshotSome,
} from './embedded-snapshot.js';
import { openEntry, type StoredKeys, type StoredTable } from './stored-layout.js';
import { CELL_BYTES, PENDING_BYTES, WriteBack } from './write-back.js';

/** Shared by all states of a store. */
export interface EmbeddedCellsDeps {
  readonly storage: Storage;
  readonly budget: CacheBudget;
  readonly turns: Turns;
  /** Replaces a whole state, in one batch with the changes of the other states. */
  readonly replace: (replacement: Replacement) => Promise<void>;
  readonly snapshotBytesMax: number;
  readonly tombstonesMax: number;
}

/** A state that is replaced as a whole. */
export interface Replacement {
  /** Its pending changes, which are discarded. */
  readonly writeBack: WriteBack<unknown, unknown>;
  fill(batch: StorageBatch): Promise<void>;
  /** Called once the batch is stored. */
  settle(): void;
}

/** What was in the storage when the state was opened. */
export interface StoredState<Ver> {
  readonly table: StoredTable;
  readonly tombstones: Map<Key, Ver>;
}

export class EmbeddedCells<V, Ver> implements Cells<V, Ver, EmbeddedCell<V, Ver>> {
  readonly schema: StateSchema<V, Ver>;
  /** Changes that are not stored yet. The store flushes them. */
  readonly writeBack: WriteBack<V, Ver>;
  readonly #keys: StoredKeys;
  readonly #deps: EmbeddedCellsDeps;
  readonly #cache: CellCache<V, Ver>;
  /** Every tombstone, stored or not. */
  #tombstones: Map<Key, Ver>;
  readonly #scratch = new ByteWriter();
  #isRestoring = false;

  constructor(
    schema: StateSchema<V, Ver>,
    keys: StoredKeys,
    stored: StoredState<Ver>,
    deps: EmbeddedCellsDeps,
  ) {
    this.schema = schema;
    this.#keys = keys;
    this.#tombstones = stored.tombstones;
    this.#deps = deps;
    this.#cache = new CellCache(deps.budget);
    this.writeBack = new WriteBack(schema, keys, this.#cache, stored.table);
  }

  find(key: Key): EmbeddedCell<V, Ver> | undefined {
    const cell = this.#cache.get(key);
    if (cell === undefined) return this.#load(key);
    cell.isUsed = true;
    return cell.isAbsent ? undefined : cell;
  }

  /** Does nothing: cells that are not cached are read on demand. */
  warm(): void {}

  /** Changes are encoded as they are made, so a running snapshot needs no copy. */
  edit(key: Key): EmbeddedCell<V, Ver> | undefined {
    return this.find(key);
  }

  valueAt(cell: EmbeddedCell<V, Ver>): V | undefined {
    return cell.value;
  }

  versionAt(cell: EmbeddedCell<V, Ver>): Ver {
    return cell.version;
  }

  insert(key: Key, value: V | undefined, version: Ver): void {
    const bytes = this.#encode({ key, value, version });
    // The cached cell, if any, masks a removed key.
    const cell = this.#cache.get(key) ?? new EmbeddedCell(key, value, version);
    this.#write(cell, value, version, bytes);
  }

  change(cell: EmbeddedCell<V, Ver>, value: V | undefined, version: Ver): void {
    this.#write(cell, value, version, this.#encode({ key: cell.key, value, version }));
  }

  remove(cell: EmbeddedCell<V, Ver>): void {
    this.#write(cell, undefined, cell.version, undefined);
  }

  /** Takes over an entry that is stored in another form. It counts as changed. */
  adopt({ key, value, version }: Entry<V, Ver>, checksum: number): void {
    const cell = new EmbeddedCell<V, Ver>(key, value, version);
    cell.stored = checksum;
    cell.isStoredTombstone = value === undefined;
    this.#write(cell, value, version, this.#encode({ key, value, version }));
  }

  writeAll(entries: readonly Entry<V, Ver>[]): void {
    const encoded = entries.map((entry) => ({ ...entry, bytes: this.#encode(entry) }));
    let neededBytes = 0;
    let tombstones = 0;
    for (const { key, value, bytes } of encoded) {
      neededBytes += CELL_BYTES + PENDING_BYTES + 3 * bytes.length;
      if (value === undefined && !this.#tombstones.has(key)) tombstones += 1;
    }
    this.#checkTombstones(tombstones);
    if (!this.#deps.budget.makeRoom(neededBytes)) throw this.#cacheFull();
    for (const { key, value, version, bytes } of encoded) {
      const cell = this.#cache.get(key) ?? this.#load(key) ?? new EmbeddedCell(key, value, version);
      this.#write(cell, value, version, bytes);
    }
  }

  removeTombstones(isOld: (version: Ver) => boolean): number {
    let removed = 0;
    for (const [key, version] of this.#tombstones) {
      if (!isOld(version)) continue;
      const cell = this.find(key);
      if (cell === undefined || cell.value !== undefined || !isOld(cell.version)) {
        this.#tombstones.delete(key); // the index is damaged; the entry is authoritative
        continue;
      }
      this.remove(cell);
      removed += 1;
    }
    return removed;
  }

  async snapshot(): Promise<Uint8Array> {
    using view = this.#deps.storage.snapshot();
    return await snapshotAll(this.#source(), view, this.writeBack.changes());
  }

  async snapshotForKeys(keys: Iterable<Key>): Promise<Uint8Array> {
    const wanted = new Set(keys);
    for (const key of wanted) checkKey(key);
    using view = this.#deps.storage.snapshot();
    return await snapshotSome(this.#source(), view, this.writeBack.changes(), wanted);
  }

  /** Bypasses the cache, since a whole state may not fit into it. The state is durable when this resolves. */
  async restore(bytes: Uint8Array): Promise<void> {
    this.#assertWritable();
    this.#isRestoring = true;
    let restored: StoredState<Ver> | undefined;
    try {
      await this.#deps.replace({
        writeBack: this.writeBack,
        fill: async (batch) => {
          restored = await fillRestore(this.#source(), this.#deps.storage, batch, bytes);
        },
        settle: () => {
          assert(restored !== undefined, 'a replacement is filled before it settles');
          this.writeBack.forget(restored.table);
          this.#tombstones = restored.tombstones;
        },
      });
    } finally {
      this.#isRestoring = false;
    }
  }

  #load(key: Key): EmbeddedCell<V, Ver> | undefined {
    checkKey(key);
    const { storageKey } = this.#keys.entry(key);
    const sealed = this.#deps.storage.get(storageKey);
    if (sealed === undefined) return undefined;
    const { entry, checksum } = openEntry(this.schema, this.#keys, storageKey, sealed);
    const cell = new EmbeddedCell<V, Ver>(key, entry.value, entry.version);
    cell.stored = checksum;
    cell.isStoredTombstone = entry.value === undefined;
    const costBytes = CELL_BYTES + 2 * sealed.length;
    if (this.#deps.budget.makeRoom(costBytes)) this.#cache.add(cell, costBytes);
    return cell;
  }

  #encode({ key, value, version }: Entry<V, Ver>): Uint8Array {
    this.#scratch.clear();
    writeEntry(this.#scratch, this.schema, key, value, version);
    return this.#scratch.copy();
  }

  /** Removes the key if `bytes` is undefined. If it throws, nothing has changed. */
  #write(
    cell: EmbeddedCell<V, Ver>,
    value: V | undefined,
    version: Ver,
    bytes: Uint8Array | undefined,
  ): void {
    this.#assertWritable();
    const isTombstone = bytes !== undefined && value === undefined;
    if (isTombstone && !this.#tombstones.has(cell.key)) this.#checkTombstones(1);
    if (!this.writeBack.add(cell, { bytes, isTombstone, version })) throw this.#cacheFull();
    if (isTombstone) this.#tombstones.set(cell.key, version);
    else this.#tombstones.delete(cell.key);
    cell.value = value;
    cell.version = version;
    cell.isAbsent = bytes === undefined;
  }

  #source(): SnapshotSource<V, Ver> {
    const { turns, snapshotBytesMax } = this.#deps;
    return { schema: this.schema, keys: this.#keys, turns, bytesMax: snapshotBytesMax };
  }

  #assertWritable(): void {
    assert(!this.#isRestoring, 'a state must not be written to while it is being restored');
  }

  #checkTombstones(more: number): void {
    const { tombstonesMax } = this.#deps;
    if (this.#tombstones.size + more <= tombstonesMax) return;
    throw limitExceeded(
      'tombstonesMax',
      `state "${this.schema.uid}" would have more than ${tombstonesMax} tombstones; prune old ones`,
    );
  }

  #cacheFull(): Error {
    const { bytesMax } = this.#deps.budget;
    return limitExceeded(
      'cacheBytesMax',
      `unflushed changes fill the cache of ${bytesMax} bytes; await flush() and try again`,
    );
  }
}
