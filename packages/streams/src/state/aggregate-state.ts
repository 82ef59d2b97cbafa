// Aggregate state: counts, sums and the like, changed by a function of the current value.
//
// There is no version: a version per key cannot tell "this increment again" from "another increment".
// An aggregate is exact because it is restored together with the positions of its input, so that no
// record meets a state that already contains it.
import { SynclineError } from '@syncline/kernel';
import type { Entry } from '../snapshot/entry.js';
import { type Cells, readSnapshot, runInSlices, type Turns } from './cells.js';
import { type Key, showKey } from './key.js';
import type { AggregateBackend } from './state-backend.js';

export class AggregateState<V, Cell> implements AggregateBackend<Key, V> {
  readonly #cells: Cells<V, undefined, Cell>;
  readonly #turns: Turns;

  constructor(cells: Cells<V, undefined, Cell>, turns: Turns) {
    this.#cells = cells;
    this.#turns = turns;
  }

  update(key: Key, fn: (value: V | undefined) => V | undefined): V | undefined {
    const cell = this.#cells.edit(key);
    if (cell === undefined) {
      const first = fn(undefined);
      if (first !== undefined) this.#cells.insert(key, first, undefined);
      return first;
    }
    const value = fn(this.#cells.valueAt(cell));
    if (value === undefined) this.#cells.remove(cell);
    else this.#cells.change(cell, value, undefined);
    return value;
  }

  get(key: Key): V | undefined {
    const cell = this.#cells.find(key);
    return cell === undefined ? undefined : this.#cells.valueAt(cell);
  }

  snapshot(): Promise<Uint8Array> {
    return this.#cells.snapshot();
  }

  snapshotForKeys(keys: Iterable<Key>): Promise<Uint8Array> {
    return this.#cells.snapshotForKeys(keys);
  }

  restore(bytes: Uint8Array): Promise<void> {
    return this.#cells.restore(bytes);
  }

  async restoreKeys(bytes: Uint8Array): Promise<void> {
    const entries: Entry<V, undefined>[] = [];
    const { schema } = this.#cells;
    const reading = readSnapshot(bytes, schema, 'any', (entry) => entries.push(entry));
    await runInSlices(reading, this.#turns);
    const existing = entries.find(({ key }) => this.#cells.find(key) !== undefined);
    if (existing !== undefined) {
      const key = showKey(existing.key);
      throw new SynclineError(
        'version-conflict',
        `state "${schema.uid}" already has key ${key}. Two aggregates of one key cannot be merged: ` +
          'nothing tells which updates both contain.',
        { details: { uid: schema.uid, key } },
      );
    }
    this.#cells.writeAll(entries);
  }
}
