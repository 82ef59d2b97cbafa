// State in a Storage: for state that should survive the process, or that is larger than the heap.
//
// Reads and writes are synchronous, as in memory. Changes become durable together: `flush` writes the changes of all
// states of the store in one batch, so after a crash all of them are as of the same flush.
import { assert, createSystemClock, type Storage, StorageBatch } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { runInSlices, type Turns } from '../state/cells.js';
import { createBackend } from '../state/create-backend.js';
import type { BackendOf, StateDescription, StateStore } from '../state/state-backend.js';
import { corrupt } from '../state/state-error.js';
import { createSchema, type StateSchema } from '../state/state-schema.js';
import { CacheBudget, type EmbeddedCell } from './cell-cache.js';
import { EmbeddedCells, type Replacement, type StoredState } from './embedded-cells.js';
import { decodeTable, readTombstones, StoredKeys, StoredTable } from './stored-layout.js';
import type { WriteBack } from './write-back.js';

export interface EmbeddedStateOptions {
  /** Number of groups that keys are hashed into. Default 128. It cannot be changed once the state has been flushed. */
  readonly keyGroups?: number;
  /** Memory for cells, shared by all states of this store. Default 256 MiB. A larger cache saves disk reads. */
  readonly cacheBytesMax?: number;
  /** Maximum size of a snapshot. Default 512 MiB. */
  readonly snapshotBytesMax?: number;
  /** Tombstones of one state; they are held in memory. Default 1,000,000. At the limit, prune before deleting more. */
  readonly tombstonesMax?: number;
}

export interface EmbeddedStateDeps {
  /** Lets other tasks run while many entries are written. */
  readonly clock: Turns;
}

export interface EmbeddedState extends StateStore {
  /**
   * Resolves when everything written before the call is durable, in all states. If it fails, the changes stay in
   * memory and a later flush writes them. Restoring a snapshot also flushes.
   */
  flush(): Promise<void>;
}

/**
 * The caller closes `storage`. Nothing else may write to keys that start with `op/`, `kv/` or `gone/`. While the
 * storage reopens after a failed write, reads throw `unavailable`.
 */
export function embeddedState(
  storage: Storage,
  options: EmbeddedStateOptions = {},
  deps: EmbeddedStateDeps = { clock: createSystemClock() },
): EmbeddedState {
  return new StorageState(storage, options, deps.clock);
}

class StorageState implements EmbeddedState {
  readonly #storage: Storage;
  readonly #options: EmbeddedStateOptions;
  readonly #turns: Turns;
  readonly #budget: CacheBudget;
  readonly #uids = new Set<string>();
  readonly #states: EmbeddedCells<unknown, unknown>[] = [];
  /** Resolves when no write is in progress. */
  #busy: Promise<void> | undefined;

  constructor(storage: Storage, options: EmbeddedStateOptions, turns: Turns) {
    this.#storage = storage;
    this.#options = options;
    this.#turns = turns;
    this.#budget = new CacheBudget(options.cacheBytesMax ?? streamsLimits.cacheBytesMax.value);
  }

  async open<Description extends StateDescription>(
    uid: string,
    description: Description,
  ): Promise<BackendOf<Description>> {
    const schema = createSchema(uid, description, this.#options.keyGroups);
    assert(!this.#uids.has(uid), `state "${uid}" is already open`);
    this.#uids.add(uid);
    try {
      const keys = new StoredKeys(uid, schema.keyGroups);
      const stored = await this.#readStored(schema, keys);
      const {
        snapshotBytesMax = streamsLimits.snapshotBytesMax.value,
        tombstonesMax = streamsLimits.tombstonesMax.value,
      } = this.#options;
      const cells = new EmbeddedCells(schema, keys, stored, {
        storage: this.#storage,
        budget: this.#budget,
        turns: this.#turns,
        replace: (replacement) => this.#whenIdle(() => this.#write(replacement)),
        snapshotBytesMax,
        tombstonesMax,
      });
      this.#states.push(cells);
      return createBackend<Description, EmbeddedCell<unknown, unknown>>(cells, this.#turns);
    } catch (thrown) {
      this.#uids.delete(uid);
      throw thrown;
    }
  }

  flush(): Promise<void> {
    return this.#whenIdle(() => this.#write());
  }

  /** Writes one batch: the changes of all states, and the whole of a state that is being replaced. */
  async #write(replacement?: Replacement): Promise<void> {
    const changed = this.#states
      .map(({ writeBack }) => writeBack)
      .filter((writeBack) => !writeBack.isEmpty && writeBack !== replacement?.writeBack);
    if (changed.length === 0 && replacement === undefined) return;
    for (const writeBack of changed) writeBack.capture();
    const batch = new StorageBatch();
    const tables = new Map<WriteBack<unknown, unknown>, StoredTable>();
    try {
      for (const writeBack of changed) {
        tables.set(writeBack, await runInSlices(writeBack.fill(batch), this.#turns));
      }
      await replacement?.fill(batch);
      await this.#storage.write(batch, { durability: 'synced' });
    } catch (thrown) {
      for (const writeBack of changed) writeBack.abandon();
      throw thrown;
    }
    replacement?.settle();
    for (const [writeBack, table] of tables)
      await runInSlices(writeBack.settle(table), this.#turns);
  }

  /** Runs `work` now, or after all earlier calls have settled. */
  #whenIdle(work: () => Promise<void>): Promise<void> {
    const run = this.#busy === undefined ? work() : this.#busy.then(work);
    const busy = run
      .catch(() => undefined)
      .then(() => {
        if (this.#busy === busy) this.#busy = undefined;
      });
    this.#busy = busy;
    return run;
  }

  async #readStored(
    schema: StateSchema<unknown, unknown>,
    keys: StoredKeys,
  ): Promise<StoredState<unknown>> {
    const sealed = this.#storage.get(keys.table);
    if (sealed === undefined) {
      for await (const _ of this.#storage.range({ ...keys.entries, limit: 1 })) {
        const damage = { offset: 0, expected: 'a table', found: 'entries without one' };
        throw corrupt(`state "${schema.uid}"`, damage);
      }
      return { table: StoredTable.empty(schema.keyGroups), tombstones: new Map() };
    }
    const table = decodeTable(schema, sealed);
    const tombstones = await readTombstones(this.#storage, schema, keys);
    return { table, tombstones };
  }
}
