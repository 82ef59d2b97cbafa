// Versioned state: the newest value of each key wins, and repeating an update changes nothing.
//
// A newer version is applied; an equal version with an equal value is `same`; an equal version with a different value
// is a `version-conflict`, which is never silent; an older version is `older`. The content is therefore a maximum over
// a total order, so the order of arrival does not matter.
//
// X3  Updates are idempotent and independent of order, except for conflicts; a conflict changes nothing.
import { SynclineError } from '@syncline/kernel';
import type { Entry } from '../snapshot/entry.js';
import { encodeValue } from '../snapshot/entry.js';
import { acceptValue, StateOfCells } from './cells.js';
import { type Key, showKey } from './key.js';
import type { PutResult, StateBackend } from './state-backend.js';
import { badRecord, showBytes } from './state-error.js';
import type { Version } from './version.js';

export class VersionedState<V, Ver extends Version, Cell>
  extends StateOfCells<V, Ver, Cell>
  implements StateBackend<Key, V, Ver>
{
  put(key: Key, value: V, version: Ver): PutResult {
    if (value === undefined) {
      throw badRecord(`the value of key ${showKey(key)} is undefined; use delete to remove it`);
    }
    return this.#apply(key, acceptValue(this.cells.schema, key, value), version);
  }

  delete(key: Key, version: Ver): PutResult {
    return this.#apply(key, undefined, version);
  }

  get(key: Key): { readonly value: V; readonly version: Ver } | undefined {
    const cell = this.cells.find(key);
    if (cell === undefined) return undefined;
    const value = this.cells.valueAt(cell);
    return value === undefined ? undefined : { value, version: this.cells.versionAt(cell) };
  }

  prune(through: Ver): number {
    const { versions } = this.cells.schema;
    const last = versions.check(through);
    return this.cells.removeTombstones((version) => versions.compare(version, last) <= 0);
  }

  protected override accept(entries: readonly Entry<V, Ver>[]) {
    return entries.filter((entry) => this.#decide(this.cells.find(entry.key), entry) === 'applied');
  }

  #apply(key: Key, value: V | undefined, version: Ver): PutResult {
    const checked = this.cells.schema.versions.check(version);
    const cell = this.cells.find(key);
    const result = this.#decide(cell, { key, value, version: checked });
    if (result !== 'applied') return result;
    if (cell === undefined) this.cells.insert(key, value, checked);
    else this.cells.change(cell, value, checked);
    return 'applied';
  }

  #decide(cell: Cell | undefined, entry: Entry<V, Ver>): PutResult {
    if (cell === undefined) return 'applied';
    const order = this.cells.schema.versions.compare(entry.version, this.cells.versionAt(cell));
    if (order !== 0) return order > 0 ? 'applied' : 'older';
    const current = this.cells.valueAt(cell);
    if (this.#isSameValue(entry.key, current, entry.value)) return 'same';
    throw this.#conflict(current, entry);
  }

  /** Values are equal if their bytes are. Equal primitives need not be encoded to compare them. */
  #isSameValue(key: Key, current: V | undefined, offered: V | undefined): boolean {
    if (current === undefined || offered === undefined) return current === offered;
    if (typeof current !== 'object' && Object.is(current, offered)) return true;
    const { schema } = this.cells;
    const currentBytes = Uint8Array.from(encodeValue(schema, key, current)); // `encode` may reuse its buffer
    return Buffer.compare(currentBytes, encodeValue(schema, key, offered)) === 0;
  }

  #conflict(currentValue: V | undefined, entry: Entry<V, Ver>): SynclineError {
    const { uid, versions } = this.cells.schema;
    const key = showKey(entry.key);
    const version = versions.show(entry.version);
    const current = this.#show(entry.key, currentValue);
    const offered = this.#show(entry.key, entry.value);
    return new SynclineError(
      'version-conflict',
      `state "${uid}" has ${current} for key ${key} at version ${version}, and was given ${offered} ` +
        'at the same version. Two writers probably use the same version for different updates.',
      { details: { uid, key, version, current, offered } },
    );
  }

  #show(key: Key, value: V | undefined): string {
    if (value === undefined) return 'a tombstone';
    return showBytes(encodeValue(this.cells.schema, key, value));
  }
}
