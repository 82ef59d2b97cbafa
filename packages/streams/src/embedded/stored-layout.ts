// How an embedded state is laid out in its Storage, and the table that verifies it.
//
//   op/<uid>                 the table: kind, codec, key groups; per group the number of entries and the
//                            sum of their checksums
//   kv/<uid>/<group>/<key>   one entry, then its CRC-32; the group as 4 hex digits, the key as bytes
//   gone/<uid>/<key>         the version of a tombstone, so that opening a state finds all of them
//
// A Storage may silently lose an entry if the disk damages the place where it is stored. The table is written in the
// same batch as the entries, so the loss is detected when the whole group is read.
//
// X24  A damaged entry is reported as `corrupt` when it is read, and a missing one when the whole state is read.
import type { StorageBatch, StorageReads } from '@syncline/kernel';
import { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { entryChecksum, type ReadEntry, readEntry } from '../snapshot/entry.js';
import { type Key, keyGroupOf, readKey, showKey, writeKey } from '../state/key.js';
import {
  checkStoredSchema,
  type StateSchema,
  type StoredSchema,
  storedSchema,
} from '../state/state-schema.js';
import { seal, unseal } from '../store/layout.js';

const CRC_BYTES = 4;
const GROUP_DIGITS = 4;

export interface KeyRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

export interface EntryPlace {
  /** A view, valid until the next call. */
  readonly storageKey: Uint8Array;
  readonly group: number;
}

/** The storage keys of one state. */
export class StoredKeys {
  readonly table: Uint8Array;
  readonly entries: KeyRange;
  readonly tombstones: KeyRange;
  /** Name of an entry in error messages. */
  readonly entryName: string;
  readonly #keyGroups: number;
  readonly #groupPaths: readonly Uint8Array[];
  readonly #writer = new ByteWriter();

  constructor(uid: string, keyGroups: number) {
    this.table = Buffer.from(`op/${uid}`);
    // '0' follows '/' in ASCII, so it is the end of the range of keys that start with the path.
    this.entries = { from: Buffer.from(`kv/${uid}/`), to: Buffer.from(`kv/${uid}0`) };
    this.tombstones = { from: Buffer.from(`gone/${uid}/`), to: Buffer.from(`gone/${uid}0`) };
    this.entryName = `an entry of state "${uid}"`;
    this.#keyGroups = keyGroups;
    this.#groupPaths = Array.from({ length: keyGroups }, (_, group) =>
      Buffer.from(`${group.toString(16).padStart(GROUP_DIGITS, '0')}/`),
    );
  }

  entry(key: Key): EntryPlace {
    const writer = this.#writer;
    const keyStart = this.entries.from.length + GROUP_DIGITS + 1;
    writer.clear();
    writer.bytes(this.entries.from);
    writer.bytes(this.#pathOf(0)); // a placeholder until the group is known
    writeKey(writer, key);
    const group = keyGroupOf(writer.view(keyStart), this.#keyGroups);
    const storageKey = writer.view();
    storageKey.set(this.#pathOf(group), this.entries.from.length);
    return { storageKey, group };
  }

  /** The key range of the entries of one group. */
  group(group: number): KeyRange {
    const from = Buffer.concat([this.entries.from, this.#pathOf(group)]);
    const to = Uint8Array.from(from);
    to[to.length - 1] = 0x30; // '0' follows '/'
    return { from, to };
  }

  /** The group in the storage key of an entry. */
  groupIn(storageKey: Uint8Array): number {
    const start = this.entries.from.length;
    const digits = Buffer.from(storageKey.subarray(start, start + GROUP_DIGITS));
    return Number.parseInt(digits.toString('latin1'), 16);
  }

  /** The bytes of the key in the storage key of an entry. */
  keyIn(storageKey: Uint8Array): Uint8Array {
    return storageKey.subarray(this.entries.from.length + GROUP_DIGITS + 1);
  }

  tombstone(key: Key): Uint8Array {
    this.#writer.clear();
    this.#writer.bytes(this.tombstones.from);
    writeKey(this.#writer, key);
    return this.#writer.view();
  }

  #pathOf(group: number): Uint8Array {
    return this.#groupPaths[group] as Uint8Array;
  }
}

export function putEntry(
  batch: StorageBatch,
  storageKey: Uint8Array,
  entry: Uint8Array,
  checksum: number,
): void {
  const at = batch.reservePut(storageKey.length, entry.length + CRC_BYTES);
  const { content } = batch;
  content.set(storageKey, at);
  content.set(entry, at + storageKey.length);
  writeChecksum(content, at + storageKey.length + entry.length, checksum);
}

export function putTombstone<V, Ver>(
  batch: StorageBatch,
  schema: StateSchema<V, Ver>,
  keys: StoredKeys,
  { key, version }: { readonly key: Key; readonly version: Ver },
): void {
  const writer = new ByteWriter();
  schema.versions.write(writer, version);
  batch.put(keys.tombstone(key), writer.view());
}

/** All stored tombstones of a state. */
export async function readTombstones<V, Ver>(
  reads: StorageReads,
  schema: StateSchema<V, Ver>,
  keys: StoredKeys,
): Promise<Map<Key, Ver>> {
  const tombstones = new Map<Key, Ver>();
  const source = `a tombstone of state "${schema.uid}"`;
  for await (const batch of reads.range(keys.tombstones).batches()) {
    for (const { key: storageKey, value } of batch) {
      const keyBytes = storageKey.subarray(keys.tombstones.from.length);
      const key = readKey(new ByteReader(source, keyBytes), keyBytes.length);
      tombstones.set(key, schema.versions.read(new ByteReader(source, value)));
    }
  }
  return tombstones;
}

/** Reads a stored entry. Throws `corrupt` if it is damaged or belongs to another key. */
export function openEntry<V, Ver>(
  schema: StateSchema<V, Ver>,
  keys: StoredKeys,
  storageKey: Uint8Array,
  sealed: Uint8Array,
): { readonly entry: ReadEntry<V, Ver>; readonly checksum: number } {
  const { reader, checksum } = openSealed(keys.entryName, sealed);
  const entry = readEntry(reader, schema);
  if (reader.left > 0) reader.fail('the end of the entry', `${reader.left} more bytes`);
  const keyBytes = reader.view(entry.keyStart, entry.keyEnd);
  if (Buffer.compare(keyBytes, keys.keyIn(storageKey)) !== 0) {
    reader.fail('the key that it is stored under', `key ${showKey(entry.key)}`, entry.keyStart);
  }
  return { entry, checksum };
}

/** The number of entries in each group, and the sum of their checksums modulo 2^32. */
export class StoredTable {
  readonly counts: number[];
  readonly sums: number[];

  constructor(counts: readonly number[], sums: readonly number[]) {
    this.counts = [...counts];
    this.sums = [...sums];
  }

  static empty(keyGroups: number): StoredTable {
    const zeros = new Array<number>(keyGroups).fill(0);
    return new StoredTable(zeros, zeros);
  }

  copy(): StoredTable {
    return new StoredTable(this.counts, this.sums);
  }

  add(group: number, checksum: number): void {
    this.counts[group] = (this.counts[group] ?? 0) + 1;
    this.sums[group] = ((this.sums[group] ?? 0) + checksum) >>> 0;
  }

  subtract(group: number, checksum: number): void {
    this.counts[group] = (this.counts[group] ?? 0) - 1;
    this.sums[group] = ((this.sums[group] ?? 0) - checksum) >>> 0;
  }
}

type TableContent = StoredSchema & Pick<StoredTable, 'counts' | 'sums'>;

export function encodeTable<V, Ver>(
  schema: StateSchema<V, Ver>,
  { counts, sums }: StoredTable,
): Uint8Array {
  return seal({ ...storedSchema(schema), counts, sums } satisfies TableContent);
}

/** Throws `corrupt`, or `incompatible` or `too-new` if the table does not match the schema. */
export function decodeTable<V, Ver>(schema: StateSchema<V, Ver>, sealed: Uint8Array): StoredTable {
  const what = `state "${schema.uid}"`;
  const content = unseal(`the table of ${what}`, sealed) as TableContent;
  checkStoredSchema(what, schema, content);
  return new StoredTable(content.counts, content.sums);
}

/** Verifies the checksum at the end and returns a reader for everything before it. */
function openSealed(
  name: string,
  sealed: Uint8Array,
): { readonly reader: ByteReader; readonly checksum: number } {
  const end = Math.max(0, sealed.length - CRC_BYTES);
  const reader = new ByteReader(name, sealed, 0, end);
  if (sealed.length < CRC_BYTES) reader.fail(`${CRC_BYTES} bytes or more`, String(sealed.length));
  const checksum = entryChecksum(reader.view(0, end));
  const found = new DataView(sealed.buffer, sealed.byteOffset + end).getUint32(0);
  if (found !== checksum) reader.fail(`checksum ${checksum}`, String(found), end);
  return { reader, checksum };
}

function writeChecksum(bytes: Uint8Array, at: number, checksum: number): void {
  bytes[at] = checksum >>> 24;
  bytes[at + 1] = checksum >>> 16;
  bytes[at + 2] = checksum >>> 8;
  bytes[at + 3] = checksum;
}
