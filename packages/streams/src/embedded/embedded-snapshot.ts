// Snapshots of an embedded state: a point-in-time view of the storage with the unflushed changes on top.
//
// Stored entries are already in the order of the snapshot format, so they are merged with the sorted changes and copied
// without being re-encoded, unless an older codec wrote them. Reading a whole state is also when lost entries are
// detected: each group is compared with the table.
import type { Storage, StorageBatch, StorageReads } from '@syncline/kernel';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { entryChecksum, type ReadEntry, writeEntry } from '../snapshot/entry.js';
import { SnapshotWriter } from '../snapshot/snapshot-file.js';
import { nextTurn, readSnapshot, runInSlices, SliceBudget, type Turns } from '../state/cells.js';
import { compareKeys, type Key } from '../state/key.js';
import { corrupt } from '../state/state-error.js';
import type { StateSchema } from '../state/state-schema.js';
import {
  decodeTable,
  encodeTable,
  openEntry,
  putEntry,
  putTombstone,
  type StoredKeys,
  StoredTable,
} from './stored-layout.js';
import type { Changes } from './write-back.js';

export interface SnapshotSource<V, Ver> {
  readonly schema: StateSchema<V, Ver>;
  readonly keys: StoredKeys;
  readonly turns: Turns;
  readonly bytesMax: number;
}

interface SortedChange {
  readonly storageKey: Uint8Array;
  readonly group: number;
  readonly bytes: Uint8Array | undefined;
}

/** A snapshot of everything in `view` with `changes` applied. */
export async function snapshotAll<V, Ver>(
  source: SnapshotSource<V, Ver>,
  view: StorageReads,
  changes: Changes,
): Promise<Uint8Array> {
  const { schema, keys, bytesMax } = source;
  const writer = new SnapshotWriter(schema, { isPartial: false, bytesMax });
  const pending = [...changes]
    .map(([key, bytes]): SortedChange => {
      const { storageKey, group } = keys.entry(key);
      return { storageKey: storageKey.slice(), group, bytes };
    })
    .sort((left, right) => Buffer.compare(left.storageKey, right.storageKey));
  const seen = StoredTable.empty(schema.keyGroups);
  let next = 0;
  for await (const batch of view.range(keys.entries).batches()) {
    for (const { key: storageKey, value: sealed } of batch) {
      const { entry, checksum } = openEntry(schema, keys, storageKey, sealed);
      const group = keys.groupIn(storageKey);
      seen.add(group, checksum);
      let order = 1;
      for (let change = pending[next]; change !== undefined; change = pending[next]) {
        order = Buffer.compare(change.storageKey, storageKey);
        if (order > 0) break;
        addEntry(writer, change.group, change.bytes);
        next += 1;
        if (order === 0) break;
      }
      if (order !== 0) addEntry(writer, group, currentBytes(schema, entry, sealed));
    }
  }
  for (const { group, bytes } of pending.slice(next)) addEntry(writer, group, bytes);
  checkTable(source, view, seen);
  return writer.finish();
}

/** A snapshot of some keys. */
export async function snapshotSome<V, Ver>(
  source: SnapshotSource<V, Ver>,
  view: StorageReads,
  changes: Changes,
  wanted: ReadonlySet<Key>,
): Promise<Uint8Array> {
  const { schema, keys, turns, bytesMax } = source;
  const found: { readonly key: Key; readonly group: number; readonly bytes: Uint8Array }[] = [];
  const budget = new SliceBudget();
  for (const key of wanted) {
    const { storageKey, group } = keys.entry(key);
    let bytes = changes.get(key);
    const sealed = changes.has(key) ? undefined : view.get(storageKey);
    if (sealed !== undefined) {
      const { entry } = openEntry(schema, keys, storageKey, sealed);
      bytes = currentBytes(schema, entry, sealed);
    }
    if (bytes !== undefined) found.push({ key, group, bytes });
    if (budget.spend(1, bytes?.length ?? 0)) await nextTurn(turns);
  }
  found.sort((left, right) => left.group - right.group || compareKeys(left.key, right.key));
  const writer = new SnapshotWriter(schema, { isPartial: true, bytesMax });
  for (const { group, bytes } of found) addEntry(writer, group, bytes);
  return writer.finish();
}

/** Adds the operations to a batch that replace a whole state with a snapshot. Returns what will be stored then. */
export async function fillRestore<V, Ver>(
  { schema, keys, turns }: SnapshotSource<V, Ver>,
  storage: Storage,
  batch: StorageBatch,
  bytes: Uint8Array,
): Promise<{ table: StoredTable; tombstones: Map<Key, Ver> }> {
  for (const range of [keys.entries, keys.tombstones]) {
    for await (const stored of storage.range(range).batches()) {
      for (const { key } of stored) batch.delete(key);
    }
  }
  const table = StoredTable.empty(schema.keyGroups);
  const tombstones = new Map<Key, Ver>();
  const reading = readSnapshot(bytes, schema, 'whole', (entry) => {
    const { storageKey, group } = keys.entry(entry.key);
    const stored = currentBytes(schema, entry, bytes);
    const checksum = entryChecksum(stored);
    table.add(group, checksum);
    putEntry(batch, storageKey, stored, checksum);
    if (entry.value !== undefined) return;
    tombstones.set(entry.key, entry.version);
    putTombstone(batch, schema, keys, entry);
  });
  await runInSlices(reading, turns);
  batch.put(keys.table, encodeTable(schema, table));
  return { table, tombstones };
}

function addEntry<V, Ver>(
  writer: SnapshotWriter<V, Ver>,
  group: number,
  bytes: Uint8Array | undefined,
): void {
  if (bytes === undefined) return;
  writer.blocks.enter(0, group);
  writer.blocks.addEncoded(bytes);
}

/** An entry as the current codec writes it, so that equal states give equal bytes. `read` contains its stored form. */
function currentBytes<V, Ver>(
  schema: StateSchema<V, Ver>,
  entry: ReadEntry<V, Ver>,
  read: Uint8Array,
): Uint8Array {
  if (entry.codecVersion === schema.codec.version) return read.subarray(entry.start, entry.end);
  const writer = new ByteWriter();
  writeEntry(writer, schema, entry.key, entry.value, entry.version);
  return writer.view();
}

/** Checks one stored group against the table. Throws `corrupt`. */
export async function checkGroup<V, Ver>(
  schema: StateSchema<V, Ver>,
  keys: StoredKeys,
  view: StorageReads,
  group: number,
): Promise<void> {
  const sealed = view.get(keys.table);
  if (sealed === undefined) return;
  const seen = StoredTable.empty(schema.keyGroups);
  for await (const batch of view.range(keys.group(group)).batches()) {
    for (const { key, value } of batch) {
      seen.add(group, openEntry(schema, keys, key, value).checksum);
    }
  }
  compareGroup(schema, decodeTable(schema, sealed), seen, group);
}

/** Checks all stored entries, as counted in `seen`, against the table. Throws `corrupt`. */
export function checkTable<V, Ver>(
  { schema, keys }: Pick<SnapshotSource<V, Ver>, 'schema' | 'keys'>,
  view: StorageReads,
  seen: StoredTable,
): void {
  const sealed = view.get(keys.table);
  const table =
    sealed === undefined ? StoredTable.empty(schema.keyGroups) : decodeTable(schema, sealed);
  for (let group = 0; group < schema.keyGroups; group += 1)
    compareGroup(schema, table, seen, group);
}

function compareGroup<V, Ver>(
  schema: StateSchema<V, Ver>,
  table: StoredTable,
  seen: StoredTable,
  group: number,
): void {
  const isEqual =
    table.counts[group] === seen.counts[group] && table.sums[group] === seen.sums[group];
  if (isEqual) return;
  const show = ({ counts, sums }: StoredTable) =>
    `${counts[group]} entries with checksums that add up to ${sums[group]}`;
  const source = `key group ${group} of state "${schema.uid}"`;
  throw corrupt(source, { offset: 0, expected: show(table), found: show(seen) });
}
