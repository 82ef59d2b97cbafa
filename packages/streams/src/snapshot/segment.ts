// Segments: the changed entries of one key group as one value in the checkpoint store.
//
//   segment = blocks as in a snapshot, section 0, all of one key group; keys are strictly ascending
//   entry   = as in a snapshot | u8 2 · varint n · key, for a key that was removed
//
// A group is the union of its segments, in which the newest entry of each key wins. Merging copies entries without
// decoding their values, so it calls no codec and keeps the codec version of each entry.
import { crc32 } from '@syncline/kernel/node';
import type { SliceBudget } from '../state/cells.js';
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
  readonly holds: SegmentContent;
}

/** `all`: every key that the group has now. `nothing`: the group has no keys left. Both replace earlier segments. */
export type SegmentContent = 'changes' | 'all' | 'nothing';

/** Collects blocks into one segment per group. Groups must be entered one after the other. */
export class SegmentWriter {
  readonly blocks = new BlockWriter((block) => this.#take(block));
  readonly #segments: Segment[];
  #parts: WrittenBlock[] = [];
  readonly #holds = new Map<number, SegmentContent>();
  #bytes = 0;

  /** A segment is added to `segments` as soon as it is complete. */
  constructor(segments: Segment[] = []) {
    this.#segments = segments;
  }

  /** Total size of the finished blocks. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Called after the entries of a group were added. */
  endGroup(group: number, holds: SegmentContent): void {
    this.#holds.set(group, holds);
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
    const isOne = this.#parts.length === 1;
    const bytes = isOne ? first.bytes : Buffer.concat(this.#parts.map((part) => part.bytes));
    const entries = this.#parts.reduce((sum, part) => sum + part.entries, 0);
    const { group } = first;
    const holds = this.#holds.get(group) ?? 'changes';
    this.#segments.push({ group, bytes, entries, crc: crc32(bytes), holds });
    this.#parts = [];
  }
}

/** Visits the entries of a verified segment: `take` gets values and tombstones, `remove` gets removed keys. */
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

/** The cost of comparing an entry with that of another segment, relative to the cost of encoding one. */
const COMPARE_COST = 1 / 16;

/** Iterates over the entries of a segment without decoding their values. */
class EntryCursor {
  readonly bytes: Uint8Array;
  isDone = false;
  isRemoved = false;
  /** The current entry is the bytes from `start` up to `end`. */
  start = 0;
  end = 0;
  #keyStart = 0;
  #keyEnd = 0;
  readonly #name: string;
  readonly #versions: VersionType<unknown>;
  readonly #reader: ByteReader;
  #payload: ByteReader;
  #entriesLeft = 0;

  constructor(name: string, bytes: Uint8Array, versions: VersionType<unknown>) {
    this.#name = name;
    this.bytes = bytes;
    this.#versions = versions;
    this.#reader = new ByteReader(name, bytes);
    this.#payload = this.#reader;
    this.#read();
  }

  /** Moves to the next entry. Throws if its key is not greater. */
  advance(): void {
    const keyStart = this.#keyStart;
    const keyEnd = this.#keyEnd;
    const offset = this.end;
    this.#read();
    if (this.isDone || this.#compare(this.bytes, keyStart, keyEnd) > 0) return;
    throw corrupt(this.#name, { offset, expected: 'ascending keys', found: 'another order' });
  }

  compareKey(other: EntryCursor): number {
    return this.#compare(other.bytes, other.#keyStart, other.#keyEnd);
  }

  #read(): void {
    if (this.#entriesLeft === 0) {
      this.isDone = this.#reader.left === 0;
      if (this.isDone) return;
      const { payload, entries } = readBlock(this.#reader);
      this.#payload = payload;
      this.#entriesLeft = entries;
    }
    this.#entriesLeft -= 1;
    const payload = this.#payload;
    this.start = payload.at;
    this.isRemoved = payload.u8() === REMOVED;
    if (!this.isRemoved) payload.varint();
    const keyBytes = payload.varint();
    this.#keyStart = payload.at;
    payload.skip(keyBytes);
    this.#keyEnd = payload.at;
    if (!this.isRemoved) {
      this.#versions.read(payload);
      payload.skip(payload.varint());
    }
    this.end = payload.at;
  }

  /** Compares the current key with another. For most keys, calling the native function would take longer. */
  #compare(other: Uint8Array, otherStart: number, otherEnd: number): number {
    const length = this.#keyEnd - this.#keyStart;
    const otherLength = otherEnd - otherStart;
    const common = Math.min(length, otherLength);
    for (let at = 0; at < common; at += 1) {
      const left = this.bytes[this.#keyStart + at] as number;
      const right = other[otherStart + at] as number;
      if (left !== right) return left - right;
    }
    return length - otherLength;
  }
}

/**
 * The encoded entries of a group in key order, each key once: later segments win, and removed keys are omitted.
 * Segments are passed oldest first. An entry is valid until the next one is requested.
 */
export function* mergeSegments(
  name: string,
  segments: readonly Uint8Array[],
  versions: VersionType<unknown>,
): Generator<Pick<EntryCursor, 'bytes' | 'start' | 'end'>, void> {
  const cursors = segments.map((bytes) => new EntryCursor(name, bytes, versions));
  const lowest: EntryCursor[] = [];
  for (;;) {
    lowest.length = 0;
    for (const cursor of cursors) {
      if (cursor.isDone) continue;
      const order = lowest[0] === undefined ? 0 : cursor.compareKey(lowest[0]);
      if (order < 0) lowest.length = 0;
      if (order <= 0) lowest.push(cursor);
    }
    const newest = lowest.at(-1);
    if (newest === undefined) return;
    if (!newest.isRemoved) yield newest;
    for (const cursor of lowest) cursor.advance();
  }
}

/** Merges all segments of a group into one, which is added to `writer`, in slices of `budget`. */
export function* writeMerged(
  writer: SegmentWriter,
  name: string,
  group: number,
  segments: readonly Uint8Array[],
  versions: VersionType<unknown>,
  budget: SliceBudget,
): Generator<void, void> {
  writer.blocks.enter(0, group);
  writer.endGroup(group, 'all');
  for (const { bytes, start, end } of mergeSegments(name, segments, versions)) {
    writer.blocks.addEncoded(bytes, start, end);
    if (budget.spend(1 + segments.length * COMPARE_COST, end - start)) yield;
  }
  writer.finish();
}
