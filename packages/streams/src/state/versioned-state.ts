// Versioned state: the newest value of each key wins, and saying the same thing twice changes nothing.
//
// The tie rules: a newer version is applied; an equal version with an equal value is `same`; an equal
// version with another value is a `version-conflict`, never silent; an older version is `older`. The
// content is then a maximum over a total order, so the order of arrival does not matter.
//
// X3  Putting is idempotent and independent of order up to conflicts, and a conflict changes nothing.
import { SynclineError } from '@syncline/kernel';
import type { Entry } from '../snapshot/entry.js';
import { encodeValue } from '../snapshot/entry.js';
import { type Cells, readSnapshot, runInSlices, type Turns } from './cells.js';
import { type Key, showKey } from './key.js';
import type { PutResult, StateBackend } from './state-backend.js';
import { badRecord, showBytes } from './state-error.js';
import type { Version } from './version.js';

export class VersionedState<V, Ver extends Version, Cell> implements StateBackend<Key, V, Ver> {
  readonly #cells: Cells<V, Ver, Cell>;
  readonly #turns: Turns;

  constructor(cells: Cells<V, Ver, Cell>, turns: Turns) {
    this.#cells = cells;
    this.#turns = turns;
  }

  put(key: Key, value: V, version: Ver): PutResult {
    if (value === undefined) {
      throw badRecord(`the value of key ${showKey(key)} is undefined; use delete to remove it`);
    }
    return this.#apply(key, value, version);
  }

  delete(key: Key, version: Ver): PutResult {
    return this.#apply(key, undefined, version);
  }

  get(key: Key): { readonly value: V; readonly version: Ver } | undefined {
    const cell = this.#cells.find(key);
    if (cell === undefined) return undefined;
    const value = this.#cells.valueAt(cell);
    return value === undefined ? undefined : { value, version: this.#cells.versionAt(cell) };
  }

  prune(through: Ver): number {
    const { versions } = this.#cells.schema;
    const last = versions.check(through);
    return this.#cells.removeTombstones((version) => versions.compare(version, last) <= 0);
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
    const entries: Entry<V, Ver>[] = [];
    const reading = readSnapshot(bytes, this.#cells.schema, 'any', (entry) => entries.push(entry));
    await runInSlices(reading, this.#turns);
    const isNewer = (entry: Entry<V, Ver>) =>
      this.#decide(this.#cells.find(entry.key), entry) === 'applied';
    this.#cells.writeAll(entries.filter(isNewer));
  }

  #apply(key: Key, value: V | undefined, version: Ver): PutResult {
    const checked = this.#cells.schema.versions.check(version);
    const cell = this.#cells.find(key);
    const result = this.#decide(cell, { key, value, version: checked });
    if (result !== 'applied') return result;
    if (cell === undefined) this.#cells.insert(key, value, checked);
    else this.#cells.change(cell, value, checked);
    return 'applied';
  }

  #decide(cell: Cell | undefined, entry: Entry<V, Ver>): PutResult {
    if (cell === undefined) return 'applied';
    const order = this.#cells.schema.versions.compare(entry.version, this.#cells.versionAt(cell));
    if (order !== 0) return order > 0 ? 'applied' : 'older';
    const current = this.#cells.valueAt(cell);
    if (this.#isSameValue(entry.key, current, entry.value)) return 'same';
    throw this.#conflict(current, entry);
  }

  /** Values are equal when their bytes are. Equal primitives need not be encoded to know. */
  #isSameValue(key: Key, current: V | undefined, offered: V | undefined): boolean {
    if (current === undefined || offered === undefined) return current === offered;
    if (typeof current !== 'object' && Object.is(current, offered)) return true;
    const { schema } = this.#cells;
    const currentBytes = Uint8Array.from(encodeValue(schema, key, current)); // a buffer may be reused
    return Buffer.compare(currentBytes, encodeValue(schema, key, offered)) === 0;
  }

  #conflict(currentValue: V | undefined, entry: Entry<V, Ver>): SynclineError {
    const { uid, versions } = this.#cells.schema;
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
    return showBytes(encodeValue(this.#cells.schema, key, value));
  }
}
