// Aggregate state: counts, sums and the like, changed by a function of the current value.
//
// There are no versions: a version per key cannot distinguish a repeated increment from another one. An aggregate is
// exact because it is restored together with the positions of its input, so no record is ever applied to a state that
// already contains it.
import { SynclineError } from '@syncline/kernel';
import type { Entry } from '../snapshot/entry.js';
import { acceptValue, StateOfCells } from './cells.js';
import { type Key, showKey } from './key.js';
import type { AggregateBackend } from './state-backend.js';

export class AggregateState<V, Cell>
  extends StateOfCells<V, undefined, Cell>
  implements AggregateBackend<Key, V>
{
  update(key: Key, fn: (value: V | undefined) => V | undefined): V | undefined {
    const cell = this.cells.edit(key);
    if (cell === undefined) {
      const first = this.#kept(key, fn(undefined));
      if (first !== undefined) this.cells.insert(key, first, undefined);
      return first;
    }
    const value = this.#kept(key, fn(this.cells.valueAt(cell)));
    if (value === undefined) this.cells.remove(cell);
    else this.cells.change(cell, value, undefined);
    return value;
  }

  #kept(key: Key, value: V | undefined): V | undefined {
    return value === undefined ? undefined : acceptValue(this.cells.schema, key, value);
  }

  get(key: Key): V | undefined {
    const cell = this.cells.find(key);
    return cell === undefined ? undefined : this.cells.valueAt(cell);
  }

  protected override accept(entries: readonly Entry<V, undefined>[]) {
    const { schema } = this.cells;
    const existing = entries.find(({ key }) => this.cells.find(key) !== undefined);
    if (existing !== undefined) {
      const key = showKey(existing.key);
      throw new SynclineError(
        'version-conflict',
        `state "${schema.uid}" already has key ${key}. Two aggregates of one key cannot be merged: ` +
          'there is no way to tell which updates both contain.',
        { details: { uid: schema.uid, key } },
      );
    }
    return entries;
  }
}
