// Segments: the changed entries of one key group as one value in the checkpoint store.
//
//   segment = blocks as in a snapshot, section 0, all of one key group; keys rise strictly
//   entry   = as in a snapshot | u8 2 · varint n · key, for a key that was removed
//
// A group is the sum of its segments: the newest entry of a key counts. Merging copies entries without
// decoding their values, so it costs neither a codec call nor a change of the codec's version.
import { assert, crc32 } from '@syncline/kernel';
import { type Key, readKey } from '../state/key.js';
import { corrupt } from '../state/state-error.js';
import type { StateSchema } from '../state/state-schema.js';
import type { VersionType } from '../state/version.js';
import { BlockWriter, readBlock, type WrittenBlock } from './block.js';
import { ByteReader } from './byte-reader.js';
import { REMOVED, type ReadEntry, readEntry } from './entry.js';

export interface Segment {
  readonly group: number;
  readonly bytes: Uint8Array;
  readonly entries: number;
  readonly crc: number;
}

/** Collects blocks into one segment per group. Enter groups in rising order. */
export class SegmentWriter {
  readonly blocks = new BlockWriter((block) => this.#take(block));
  readonly #segments: Segment[] = [];
  #parts: WrittenBlock[] = [];
  #bytes = 0;

  /** Bytes of the blocks that are finished. */
  get bytes(): number {
    return this.#bytes;
  }

  finish(): readonly Segment[] {
    this.blocks.finish();
    this.#close();
    return this.#segments;
  }

  #take(block: WrittenBlock): void {
    if (this.#parts[0] !== undefined && this.#parts[0].group !== block.group) this.#close();
    this.#parts.push(block);
    this.#bytes += block.bytes.length;
  }

  #close(): void {
    const [first] = this.#parts;
    if (first === undefined) return;
    const bytes = Buffer.concat(this.#parts.map((part) => part.bytes));
    const entries = this.#parts.reduce((sum, part) => sum + part.entries, 0);
    this.#segments.push({ group: first.group, bytes, entries, crc: crc32(bytes) });
    this.#parts = [];
  }
}

/** Where an entry lies; its value has not been looked at. */
interface EntryPlace {
  readonly reader: ByteReader;
  readonly start: number;
  readonly end: number;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly isRemoved: boolean;
}

/** Hands over the entries of a segment whose checksum is right: values, tombstones and removed keys. */
export function readSegment<V, Ver>(
  name: string,
  bytes: Uint8Array,
  schema: StateSchema<V, Ver>,
  take: (entry: ReadEntry<V, Ver>) => void,
  remove: (key: Key) => void,
): void {
  const reader = new ByteReader(name, bytes);
  while (reader.left > 0) {
    const { payload, entries } = readBlock(reader);
    for (let index = 0; index < entries; index += 1) {
      if (payload.view(payload.at, payload.at + 1)[0] === REMOVED) {
        payload.u8();
        remove(readKey(payload, payload.varint()));
      } else take(readEntry(payload, schema));
    }
    if (payload.left > 0) payload.fail('the end of the block', `${payload.left} more bytes`);
  }
}

function* entriesOf(
  name: string,
  bytes: Uint8Array,
  versions: VersionType<unknown>,
): Generator<EntryPlace, void> {
  const reader = new ByteReader(name, bytes);
  while (reader.left > 0) {
    const { payload, entries } = readBlock(reader);
    for (let index = 0; index < entries; index += 1) {
      const start = payload.at;
      const isRemoved = payload.u8() === REMOVED;
      if (!isRemoved) payload.varint();
      const keyLength = payload.varint();
      const keyStart = payload.at;
      payload.bytes(keyLength);
      const keyEnd = payload.at;
      if (!isRemoved) {
        versions.read(payload);
        payload.bytes(payload.varint());
      }
      yield { reader: payload, start, end: payload.at, keyStart, keyEnd, isRemoved };
    }
  }
}

interface Cursor {
  readonly entries: Generator<EntryPlace, void>;
  current: EntryPlace | undefined;
}

/**
 * The entries of a group, each key once, in order: those of the later segment win and removed keys are gone.
 * `add` gets the entry's bytes. The segments are oldest first.
 */
export function mergeSegments(
  name: string,
  segments: readonly Uint8Array[],
  versions: VersionType<unknown>,
  add: (entry: Uint8Array) => void,
): void {
  const cursors: Cursor[] = segments.map((bytes) => {
    const entries = entriesOf(name, bytes, versions);
    return { entries, current: next(entries) };
  });
  for (;;) {
    let lowest: EntryPlace | undefined;
    for (const { current } of cursors) {
      if (current === undefined) continue;
      // At equal keys the later cursor is the newer segment.
      if (lowest === undefined || compareKeyBytes(current, lowest) <= 0) lowest = current;
    }
    if (lowest === undefined) return;
    if (!lowest.isRemoved) add(lowest.reader.view(lowest.start, lowest.end));
    for (const cursor of cursors) {
      if (cursor.current === undefined || compareKeyBytes(cursor.current, lowest) !== 0) continue;
      const before = cursor.current;
      cursor.current = next(cursor.entries);
      const isRising = cursor.current === undefined || compareKeyBytes(cursor.current, before) > 0;
      if (!isRising) {
        const damage = { offset: before.end, expected: 'rising keys', found: 'another order' };
        throw corrupt(name, damage);
      }
    }
  }
}

function next(entries: Generator<EntryPlace, void>): EntryPlace | undefined {
  const step = entries.next();
  return step.done === true ? undefined : step.value;
}

function compareKeyBytes(left: EntryPlace, right: EntryPlace): number {
  return Buffer.compare(
    left.reader.view(left.keyStart, left.keyEnd),
    right.reader.view(right.keyStart, right.keyEnd),
  );
}

/** One segment that replaces all of a group's. Undefined if nothing is left. */
export function mergedSegment(
  name: string,
  group: number,
  segments: readonly Uint8Array[],
  versions: VersionType<unknown>,
): Segment | undefined {
  const writer = new SegmentWriter();
  writer.blocks.enter(0, group);
  mergeSegments(name, segments, versions, (entry) => writer.blocks.addEncoded(entry));
  const [segment, ...more] = writer.finish();
  assert(more.length === 0, 'one group gives one segment');
  return segment;
}
