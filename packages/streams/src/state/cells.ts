// The port between what a state means and where it lives.
//
// `VersionedState` and `AggregateState` hold the rules, once; `MemoryCells` and `EmbeddedCells` hold the
// cells, one per key. All of it is synchronous except for what reads or writes a whole snapshot.
import { type Clock, SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import type { Entry, ReadEntry } from '../snapshot/entry.js';
import { SnapshotReader } from '../snapshot/snapshot-file.js';
import type { Key } from './key.js';
import type { StateSchema } from './state-schema.js';

/** `Cell` is however an implementation refers to the current content of a key, until that is removed. */
export interface Cells<V, Ver, Cell> {
  readonly schema: StateSchema<V, Ver>;
  /** The cell of a key, if there is one. Throws `bad-record` for what is not a key. */
  find(key: Key): Cell | undefined;
  /** The same, for a caller that is about to change it: from here on a running snapshot has its copy. */
  edit(key: Key): Cell | undefined;
  /** Undefined for a tombstone. */
  valueAt(cell: Cell): V | undefined;
  versionAt(cell: Cell): Ver;
  /** Adds the cell of a key that has none. */
  insert(key: Key, value: V | undefined, version: Ver): void;
  change(cell: Cell, value: V | undefined, version: Ver): void;
  remove(cell: Cell): void;
  /** Inserts or changes all of them, or none if it throws. No key comes twice. */
  writeAll(entries: readonly Entry<V, Ver>[]): void;
  /** Removes the tombstones that `isOld` picks, and returns how many. */
  removeTombstones(isOld: (version: Ver) => boolean): number;
  snapshot(): Promise<Uint8Array>;
  snapshotForKeys(keys: Iterable<Key>): Promise<Uint8Array>;
  restore(bytes: Uint8Array): Promise<void>;
}

/** Lets others run between two slices of long work. */
export type Turns = Pick<Clock, 'defer'>;

export async function nextTurn(turns: Turns): Promise<void> {
  await new Promise<void>((resolve) => turns.defer(resolve));
}

/** Runs work that yields whenever it has done a slice. */
export async function runInSlices<T>(work: Generator<void, T>, turns: Turns): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await nextTurn(turns);
  }
}

/** Counts what a slice has done, and says when it is full. */
export class SliceBudget {
  #entries = 0;
  #bytes = 0;

  /** True if the slice is full; counting starts again. */
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

/** Which snapshots a reader takes: one of a whole state, to replace another, or any. */
export type SnapshotScope = 'whole' | 'any';

/** Hands over every entry of a snapshot that fits the state, in slices. Throws if any of it is wrong. */
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
      'the snapshot holds some keys only and cannot replace a whole state; merge it with restoreKeys',
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
