// Savepoints: all state of a pipeline as one portable file, read consistently while the run continues.
//
// The file is a snapshot with one section per state; its header also contains the pipeline, the epoch and the
// positions. It does not depend on the backend: in-memory state can be restored as embedded state. It contains no
// output, so it is taken after the sinks of its epoch have committed.
//
// X41  A savepoint that is damaged in any byte is rejected; an intact one restores state and positions.
import {
  assert,
  type Files,
  type Storage,
  StorageBatch,
  type StorageReads,
  SynclineError,
} from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { checkTable } from '../embedded/embedded-snapshot.js';
import {
  encodeTable,
  openEntry,
  putEntry,
  putTombstone,
  StoredKeys,
  StoredTable,
} from '../embedded/stored-layout.js';
import type { SinkMark } from '../ends/sink.js';
import { streamsLimits } from '../limits.js';
import { BlockWriter } from '../snapshot/block.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { entryChecksum, readEntry } from '../snapshot/entry.js';
import { mergeSegments } from '../snapshot/segment.js';
import {
  encodeSnapshotEnd,
  encodeSnapshotStart,
  SnapshotReader,
} from '../snapshot/snapshot-file.js';
import { nextTurn, SliceBudget, type Turns } from '../state/cells.js';
import { bytesCodec } from '../state/codec.js';
import { incompatible } from '../state/state-error.js';
import { type StateSchema, type StoredSchema, valueBytesMaxOf } from '../state/state-schema.js';
import { noVersions, type VersionKind, type VersionType, versionsOf } from '../state/version.js';
import { makeDurableDir } from './directory.js';
import {
  type Generation,
  type Head,
  type Meta,
  readFrame,
  removeLeftovers,
  seal,
  storeKeys,
} from './layout.js';
import { readStored, type StoredGroups } from './memory-states.js';
import { readTable } from './pipeline-states.js';

interface Section extends StoredSchema {
  readonly uid: string;
}

/** Starts with the fields of every snapshot header, so that SnapshotReader can check them. */
interface SavepointHeader extends StoredSchema {
  readonly pipeline: Meta;
  readonly generation: Generation;
  readonly epoch: number;
  readonly head: Head;
  readonly sections: readonly Section[];
}

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
const AUTOMATIC = /^auto-\d{10}\.snap$/;

/** Writes `savepoints/<name>.snap` in the checkpoint directory. */
export async function writeSavepoint(
  files: Files,
  directory: string,
  name: string,
  view: StorageReads,
  turns: Turns,
): Promise<void> {
  if (!NAME.test(name)) {
    throw new SynclineError(
      'invalid-argument',
      `savepoint name ${JSON.stringify(name)} does not match ${NAME.source}`,
      { details: { field: 'name' } },
    );
  }
  const folder = `${directory}/savepoints`;
  const place = `${folder}/${name}.snap`;
  await makeDurableDir(files, folder);
  if ((await files.stat(place)) !== undefined) {
    throw new SynclineError('conflict', `savepoint ${place} already exists; choose another name`, {
      details: { reason: 'exists', path: place },
    });
  }
  if ((await files.stat(`${place}.tmp`)) !== undefined) await files.remove(`${place}.tmp`);
  const { meta, generation, head } = readFrame(view);
  if (meta === undefined || generation === undefined || head === undefined) {
    throw new SynclineError('not-found', 'there is no checkpoint to save yet');
  }
  const sections = Object.keys(head.tables).map((uid): Section => {
    const table = readTable(view, uid, head);
    assert(table !== undefined, 'head names the table');
    const { kind, versionKind, codec, keyGroups, hash } = table;
    return { uid, kind, versionKind, codec, keyGroups, hash };
  });
  const header: SavepointHeader = {
    kind: 'savepoint',
    versionKind: 'none',
    codec: { id: 'savepoint', version: 1 },
    keyGroups: meta.keyGroups,
    hash: meta.hash,
    pipeline: meta,
    generation,
    epoch: head.epoch,
    head,
    sections,
  };
  const file = files.openAppend(`${place}.tmp`);
  try {
    const crcs = new ByteWriter();
    let entries = 0;
    file.append([encodeSnapshotStart(header, 0)]);
    const blocks = new BlockWriter((block) => {
      file.append([block.bytes]);
      crcs.u32(block.crc);
      entries += block.entries;
    });
    for (const [index, section] of sections.entries()) {
      await writeSection(view, head, section, index, blocks, turns);
    }
    blocks.finish();
    file.append([encodeSnapshotEnd(crcs, entries)]);
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(`${place}.tmp`, place);
  await files.syncDir(folder);
}

/** In slices, so that the run continues. Everything that is read is verified. */
async function writeSection(
  view: StorageReads,
  head: Head,
  section: Section,
  index: number,
  blocks: BlockWriter,
  turns: Turns,
): Promise<void> {
  const { uid, keyGroups } = section;
  const schema = rawSchema(section);
  const table = readTable(view, uid, head);
  const groups = table?.['groups'] as StoredGroups | undefined;
  if (groups === undefined) {
    const keys = new StoredKeys(uid, keyGroups);
    const seen = StoredTable.empty(keyGroups);
    for await (const batch of view.range(keys.entries).batches()) {
      for (const { key, value } of batch) {
        const { entry, checksum } = openEntry(schema, keys, key, value);
        const group = keys.groupIn(key);
        seen.add(group, checksum);
        blocks.enter(index, group);
        blocks.addEncoded(value, entry.start, entry.end);
      }
    }
    checkTable({ schema, keys }, view, seen);
    return;
  }
  const budget = new SliceBudget();
  const numbers = Object.keys(groups).map(Number);
  for (const group of numbers.sort((left, right) => left - right)) {
    const name = `key group ${group} of state "${uid}"`;
    const segments = (groups[group] ?? []).map((stored) => readStored(view, uid, group, stored));
    blocks.enter(index, group);
    for (const { bytes, start, end } of mergeSegments(name, segments, schema.versions)) {
      blocks.addEncoded(bytes, start, end);
      if (budget.spend(1, end - start)) await nextTurn(turns);
    }
  }
}

/** Reads entries without knowing their codec. */
export function rawSchema({
  uid,
  kind,
  versionKind,
  codec,
  keyGroups,
}: Section): StateSchema<Uint8Array, unknown> {
  const versions = (
    versionKind === 'none' ? noVersions : versionsOf(versionKind as VersionKind)
  ) as VersionType<unknown>;
  return {
    uid,
    kind: kind as StateSchema<unknown, unknown>['kind'],
    codec: { ...bytesCodec, id: codec.id, version: codec.version },
    versions,
    keyGroups,
    valueBytesMax: valueBytesMaxOf(uid),
  };
}

/**
 * Fills an empty store from a savepoint. Its epoch and generation are raised to the highest mark of any sink, so that
 * repeated output is added again instead of being mistaken for output that is already there.
 */
export async function restoreSavepoint(
  bytes: Uint8Array,
  storage: Storage,
  { name, keyGroups, backend }: Pick<Meta, 'name' | 'keyGroups' | 'backend'>,
  marks: readonly (SinkMark | null)[],
): Promise<void> {
  if (storage.get(storeKeys.meta) !== undefined) {
    throw new SynclineError(
      'conflict',
      'a savepoint can only be restored into an empty directory',
      {
        details: { reason: 'not-empty' },
      },
    );
  }
  for (const _ of new SnapshotReader(bytes).blocks()); // verifies everything before anything is written
  const reader = new SnapshotReader(bytes);
  const header = reader.header as unknown as SavepointHeader;
  for (const [field, expected, found] of [
    ['pipeline', name, header.pipeline.name],
    ['key groups', keyGroups, header.pipeline.keyGroups],
  ]) {
    if (expected !== found) throw incompatible('the savepoint', `${field}`, expected, found);
  }
  const filler = backend === 'memory' ? new SegmentFiller(header) : new EntryFiller(header);
  let batch = new StorageBatch();
  await removeLeftovers(storage, batch);
  for (const block of reader.blocks()) {
    filler.add(batch, header.sections[block.section] as Section, block);
    if (batch.bytes < streamsLimits.segmentMergeBytesMax.value) continue;
    await storage.write(batch, { durability: 'synced' });
    batch = new StorageBatch();
  }
  const tables = filler.finish(batch);
  const { head, pipeline, generation } = header;
  const highest = (pick: (mark: SinkMark) => number, from: number) =>
    marks.reduce((high, mark) => (mark === null ? high : Math.max(high, pick(mark))), from);
  const sinks = Object.fromEntries(
    Object.keys(head.sinks).map((uid) => [uid, { handle: null, committedEpoch: 0 }]),
  );
  const epoch = highest((mark) => Math.max(mark.epoch, mark.partial ?? 0), head.epoch);
  const raised = highest((mark) => mark.generation, generation.generation);
  batch.put(storeKeys.meta, seal({ ...pipeline, backend }));
  batch.put(storeKeys.generation, seal({ ...generation, generation: raised }));
  batch.put(storeKeys.head, seal({ ...head, epoch, sinks, tables }));
  await storage.write(batch, { durability: 'synced' });
}

type BlockOf = ReturnType<SnapshotReader['blocks']> extends Generator<infer B, void> ? B : never;

interface Filler {
  add(batch: StorageBatch, section: Section, block: BlockOf): void;
  /** Adds the tables and returns their checksums. */
  finish(batch: StorageBatch): Readonly<Record<string, number>>;
}

/** Stores one segment per group, made of the unchanged blocks. */
class SegmentFiller implements Filler {
  readonly #header: SavepointHeader;
  readonly #groups = new Map<string, Record<number, [number, number, number, number][]>>();
  #open: { uid: string; group: number; parts: Uint8Array[]; entries: number } | undefined;

  constructor(header: SavepointHeader) {
    this.#header = header;
  }

  add(batch: StorageBatch, { uid }: Section, { group, bytes, entries }: BlockOf): void {
    if (this.#open?.uid !== uid || this.#open.group !== group) {
      this.#close(batch);
      this.#open = { uid, group, parts: [], entries: 0 };
    }
    this.#open.parts.push(bytes);
    this.#open.entries += entries;
  }

  #close(batch: StorageBatch): void {
    if (this.#open === undefined) return;
    const { uid, group, parts, entries } = this.#open;
    const bytes = Buffer.concat(parts);
    const { epoch } = this.#header;
    batch.put(storeKeys.segment(uid, group, epoch), bytes);
    const groups = this.#groups.get(uid) ?? {};
    groups[group] = [[epoch, bytes.length, entries, crc32(bytes)]];
    this.#groups.set(uid, groups);
  }

  finish(batch: StorageBatch): Readonly<Record<string, number>> {
    this.#close(batch);
    const tables: Record<string, number> = {};
    for (const { uid, ...section } of this.#header.sections) {
      const sealed = seal({ ...section, groups: this.#groups.get(uid) ?? {} });
      batch.put(storeKeys.table(uid), sealed);
      tables[uid] = crc32(sealed);
    }
    return tables;
  }
}

/** Stores one entry per key. */
class EntryFiller implements Filler {
  readonly #header: SavepointHeader;
  readonly #tables = new Map<string, StoredTable>();

  constructor(header: SavepointHeader) {
    this.#header = header;
  }

  add(batch: StorageBatch, section: Section, { group, payload, entries }: BlockOf): void {
    const schema = rawSchema(section);
    const keys = new StoredKeys(section.uid, section.keyGroups);
    const table = this.#tables.get(section.uid) ?? StoredTable.empty(section.keyGroups);
    this.#tables.set(section.uid, table);
    for (let count = 0; count < entries; count += 1) {
      const entry = readEntry(payload, schema);
      const bytes = payload.view(entry.start, entry.end);
      const checksum = entryChecksum(bytes);
      putEntry(batch, keys.entry(entry.key).storageKey, bytes, checksum);
      table.add(group, checksum);
      if (entry.value === undefined) putTombstone(batch, schema, keys, entry);
    }
  }

  finish(batch: StorageBatch): Readonly<Record<string, number>> {
    const tables: Record<string, number> = {};
    for (const section of this.#header.sections) {
      const table = this.#tables.get(section.uid) ?? StoredTable.empty(section.keyGroups);
      const sealed = encodeTable(rawSchema(section), table);
      batch.put(storeKeys.table(section.uid), sealed);
      tables[section.uid] = crc32(sealed);
    }
    return tables;
  }
}

/** Names of the savepoints in a checkpoint directory. */
export async function listSavepoints(files: Files, directory: string): Promise<readonly string[]> {
  const folder = `${directory}/savepoints`;
  if ((await files.stat(folder)) === undefined) return [];
  return (await files.list(folder)).filter((name) => name.endsWith('.snap'));
}

/** Taken before the first epoch that older code could not read. Older automatic savepoints are removed. */
export async function writeAutomaticSavepoint(
  files: Files,
  directory: string,
  epoch: number,
  view: StorageReads,
  turns: Turns,
): Promise<void> {
  const name = `auto-${String(epoch).padStart(10, '0')}`;
  if ((await files.stat(`${directory}/savepoints/${name}.snap`)) === undefined) {
    await writeSavepoint(files, directory, name, view, turns);
  }
  const automatic = (await listSavepoints(files, directory)).filter((each) => AUTOMATIC.test(each));
  for (const old of automatic.slice(0, -streamsLimits.automaticSavepointsMax.value)) {
    await files.remove(`${directory}/savepoints/${old}`);
  }
}
