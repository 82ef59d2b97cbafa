// Keeps the states of a pipeline in the checkpoint store itself, one entry per key, with a cache in front. A start
// opens them without reading them, and they may be larger than the heap.
//
// Entries have checksums, which are verified on every read. That does not detect entries that the disk has lost, so
// after each commit point one key group is compared with the count and the sum in its table.
import { assert, type Storage, type StorageBatch, SynclineError } from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { CacheBudget } from '../embedded/cell-cache.js';
import { EmbeddedCells } from '../embedded/embedded-cells.js';
import { checkGroup } from '../embedded/embedded-snapshot.js';
import {
  decodeTable,
  encodeTable,
  openEntry,
  readTombstones,
  StoredKeys,
  StoredTable,
} from '../embedded/stored-layout.js';
import { streamsLimits } from '../limits.js';
import type { Entry } from '../snapshot/entry.js';
import { runInSlices, type Turns } from '../state/cells.js';
import type { Key } from '../state/key.js';
import { limitExceeded } from '../state/state-error.js';
import type { StateSchema } from '../state/state-schema.js';
import { type Head, storeKeys } from './layout.js';
import {
  type AnyCells,
  type DeclaredState,
  type PipelineStates,
  readTable,
  type StateSize,
  schemaOfStored,
} from './pipeline-states.js';

interface EmbeddedPipelineState {
  readonly cells: EmbeddedCells<unknown, unknown>;
  readonly keys: StoredKeys;
  table: StoredTable;
  next: StoredTable | undefined;
}

export class EmbeddedStates implements PipelineStates {
  readonly #storage: Storage;
  readonly #turns: Turns;
  readonly #budget: CacheBudget;
  readonly #states = new Map<string, EmbeddedPipelineState>();

  constructor(storage: Storage, turns: Turns, cacheBytesMax: number) {
    this.#storage = storage;
    this.#turns = turns;
    this.#budget = new CacheBudget(cacheBytesMax);
  }

  async open(state: DeclaredState, head: Head | undefined): Promise<AnyCells> {
    const { schema, storedAs } = state;
    const stored = head && readTable(this.#storage, storedAs, head);
    let table = StoredTable.empty(schema.keyGroups);
    let tombstones = new Map<Key, unknown>();
    let reader = schema;
    if (stored !== undefined) {
      reader = schemaOfStored(state, stored);
      const sealed = this.#storage.get(storeKeys.table(storedAs));
      assert(sealed !== undefined, 'the table was just read');
      table = decodeTable({ ...reader, uid: storedAs }, sealed);
      tombstones = await readTombstones(
        this.#storage,
        schema,
        new StoredKeys(storedAs, schema.keyGroups),
      );
    }
    const keys = new StoredKeys(schema.uid, schema.keyGroups);
    const cells = new EmbeddedCells<unknown, unknown>(
      schema,
      keys,
      { table, tombstones },
      {
        storage: this.#storage,
        budget: this.#budget,
        turns: this.#turns,
        replace: async () => assert(false, 'a pipeline restores its states itself'),
        snapshotBytesMax: streamsLimits.snapshotBytesMax.value,
        tombstonesMax: streamsLimits.tombstonesMax.value,
      },
    );
    if (reader !== schema) await this.#migrate(cells, { ...reader, uid: storedAs });
    this.#states.set(schema.uid, { cells, keys, table, next: undefined });
    return cells;
  }

  /** Entries of another codec are all rewritten in the first epoch. Until then they are held in the cache. */
  async #migrate(
    cells: EmbeddedCells<unknown, unknown>,
    reader: StateSchema<unknown, unknown>,
  ): Promise<void> {
    const keys = new StoredKeys(reader.uid, reader.keyGroups);
    try {
      for await (const batch of this.#storage.range(keys.entries).batches()) {
        for (const { key, value } of batch) {
          const { entry, checksum } = openEntry(reader, keys, key, value);
          cells.adopt(entry, checksum);
        }
      }
    } catch (thrown) {
      if (!(thrown instanceof SynclineError) || thrown.code !== 'limit-exceeded') throw thrown;
      const { codec, uid } = cells.schema;
      throw limitExceeded(
        'cacheBytesMax',
        `state "${uid}" does not fit into the cache, which is required to migrate it from codec ` +
          `"${reader.codec.id}" to "${codec.id}". Raise cacheBytesMax for this start.`,
      );
    }
  }

  async forEach(uid: string, visit: (entry: Entry<unknown, unknown>) => void): Promise<void> {
    const state = this.#states.get(uid);
    assert(state !== undefined, `state "${uid}" is open`);
    const { keys, cells } = state;
    for await (const batch of this.#storage.range(keys.entries).batches()) {
      for (const { key, value } of batch) {
        const { entry } = openEntry(cells.schema, keys, key, value);
        if (entry.value !== undefined) visit(entry);
      }
    }
  }

  capture(): void {
    for (const { cells } of this.#states.values()) cells.writeBack.capture();
  }

  async encode(batch: StorageBatch): Promise<Readonly<Record<string, number>>> {
    const tables: Record<string, number> = {};
    for (const [uid, state] of this.#states) {
      const { cells } = state;
      state.next = await runInSlices(cells.writeBack.fill(batch), this.#turns);
      tables[uid] = crc32(encodeTable(cells.schema, state.next));
    }
    return tables;
  }

  async settle(): Promise<void> {
    for (const state of this.#states.values()) {
      assert(state.next !== undefined, 'a checkpoint is encoded before it is stored');
      state.table = state.next;
      state.next = undefined;
      await runInSlices(state.cells.writeBack.settle(state.table), this.#turns);
    }
  }

  async scrub(epoch: number): Promise<void> {
    for (const { cells, keys } of this.#states.values()) {
      using view = this.#storage.snapshot();
      const group = epoch % cells.schema.keyGroups;
      await checkGroup(cells.schema, keys, view, group);
    }
  }

  get changedBytes(): number {
    let bytes = 0;
    for (const { cells } of this.#states.values()) bytes += cells.writeBack.pendingBytes;
    return bytes;
  }

  sizes(): ReadonlyMap<string, StateSize> {
    const sizes = new Map<string, StateSize>();
    for (const [uid, { table }] of this.#states) {
      const keys = table.counts.reduce((sum, count) => sum + count, 0);
      sizes.set(uid, { keys, bytes: 0 });
    }
    return sizes;
  }
}
