// The port between the semantics of a state and its storage.
//
// `VersionedState` and `AggregateState` implement the semantics; `MemoryCells` and `EmbeddedCells` store the cells, one
// per key. Everything is synchronous except for operations on whole snapshots.
import { type Clock, SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import type { Entry, ReadEntry } from '../snapshot/entry.js';
import { SnapshotReader } from '../snapshot/snapshot-file.js';
import { type Key, showKey } from './key.js';
import { inState } from './state-error.js';
import type { StateSchema } from './state-schema.js';

/** `Cell` is how an implementation refers to the current content of a key. It is valid until the key is removed. */
export interface Cells<V, Ver, Cell> {
  readonly schema: StateSchema<V, Ver>;
  /** The cell of a key, if there is one. Throws `bad-record` for an invalid key. */
  find(key: Key): Cell | undefined;
  /** A hint that these keys will be looked up next. */
  warm(keys: readonly Key[]): void;
  /** Like `find`, for a caller that is about to change the cell. A running snapshot keeps a copy of the old content. */
  edit(key: Key): Cell | undefined;
  /** Undefined for a tombstone. */
  valueAt(cell: Cell): V | undefined;
  versionAt(cell: Cell): Ver;
  /** Adds a cell for a key that has none. */
  insert(key: Key, value: V | undefined, version: Ver): void;
  change(cell: Cell, value: V | undefined, version: Ver): void;
  remove(cell: Cell): void;
  /** Inserts or changes all of them, or none if it throws. Keys must be unique. */
  writeAll(entries: readonly Entry<V, Ver>[]): void;
  /** Removes the tombstones that `isOld` selects, and returns their number. */
  removeTombstones(isOld: (version: Ver) => boolean): number;
  snapshot(): Promise<Uint8Array>;
  snapshotForKeys(keys: Iterable<Key>): Promise<Uint8Array>;
  restore(bytes: Uint8Array): Promise<void>;
}

/** The value in the form that the state stores. Throws if the codec rejects it. */
export function acceptValue<V>({ codec, uid }: StateSchema<V, unknown>, key: Key, value: V): V {
  if (codec.normalise === undefined) return value;
  try {
    return codec.normalise(value);
  } catch (thrown) {
    throw inState(uid, showKey(key), thrown);
  }
}

/** Lets other tasks run between two slices of long work. */
export type Turns = Pick<Clock, 'defer'>;

export async function nextTurn(turns: Turns): Promise<void> {
  await new Promise<void>((resolve) => turns.defer(resolve));
}

/** Runs work that yields after each slice. */
export async function runInSlices<T>(work: Generator<void, T>, turns: Turns): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await nextTurn(turns);
  }
}

/** Tracks the work done in a slice, and signals when the slice is full. */
export class SliceBudget {
  #entries = 0;
  #bytes = 0;

  /** Returns true if the slice is full, and starts a new one. */
  spend(entries: number, bytes: number): boolean {
    this.#entries += entries;
    this.#bytes += bytes;
    const { sliceEntriesMax, sliceBytesMax } = streamsLimits;
    if (this.#entries < sliceEntriesMax.value && this.#bytes < sliceBytesMax.value) return false;
    this.#entries = 0;
    this.#bytes = 0;
    return true;
  }
}

/** Which snapshots a reader accepts: `whole` ones, which can replace a state, or `any`. */
export type SnapshotScope = 'whole' | 'any';

/** Passes every entry of a snapshot to `take`, in slices. Throws if it is invalid or does not match the schema. */
export function* readSnapshot<V, Ver>(
  bytes: Uint8Array,
  schema: StateSchema<V, Ver>,
  scope: SnapshotScope,
  take: (entry: ReadEntry<V, Ver>) => void,
): Generator<void, void> {
  const reader = new SnapshotReader(bytes);
  reader.checkFits(schema);
  if (scope === 'whole' && reader.isPartial) {
    throw new SynclineError(
      'incompatible',
      'the snapshot holds only some keys and cannot replace a whole state; merge it with restoreKeys',
      { details: { field: 'keys', expected: 'all', found: 'some' } },
    );
  }
  const budget = new SliceBudget();
  for (const entries of reader.entries(schema)) {
    let spentBytes = 0;
    for (const entry of entries) {
      take(entry);
      spentBytes += entry.end - entry.start;
    }
    if (budget.spend(entries.length, spentBytes)) yield;
  }
}

/** The behavior shared by both kinds of state. */
export abstract class StateOfCells<V, Ver, Cell> {
  protected readonly cells: Cells<V, Ver, Cell>;
  readonly #turns: Turns;

  constructor(cells: Cells<V, Ver, Cell>, turns: Turns) {
    this.cells = cells;
    this.#turns = turns;
  }

  snapshot(): Promise<Uint8Array> {
    return this.cells.snapshot();
  }

  snapshotForKeys(keys: Iterable<Key>): Promise<Uint8Array> {
    return this.cells.snapshotForKeys(keys);
  }

  restore(bytes: Uint8Array): Promise<void> {
    return this.cells.restore(bytes);
  }

  async restoreKeys(bytes: Uint8Array): Promise<void> {
    const entries: Entry<V, Ver>[] = [];
    const reading = readSnapshot(bytes, this.cells.schema, 'any', (entry) => entries.push(entry));
    await runInSlices(reading, this.#turns);
    this.cells.writeAll(this.accept(entries));
  }

  /** Selects the entries to write. Throws if they cannot be merged. */
  protected abstract accept(entries: readonly Entry<V, Ver>[]): readonly Entry<V, Ver>[];
}
