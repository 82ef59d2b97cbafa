// Blocks: runs of entries of one key group with a checksum, the unit in which state is written and read.
//
//   block = 'B' · u16 section · u16 key group · u32 entries · u32 n · payload (n bytes) · u32 crc
//
// The checksum covers everything in the block before it. A payload is at most 64 KiB, unless it holds a single entry.
// Within a section and group, keys are strictly ascending, across blocks too.
//
// X8  Where blocks are split depends only on the entries, so equal states give equal bytes.
import { crc32 } from '@syncline/kernel/node';
import { streamsLimits } from '../limits.js';
import { keyGroupOf, showKey } from '../state/key.js';
import type { StateSchema } from '../state/state-schema.js';
import type { ByteRange, ByteReader } from './byte-reader.js';
import { ByteWriter } from './byte-writer.js';
import { type ReadEntry, readEntry } from './entry.js';

export const BLOCK_TAG = 0x42; // 'B'
const HEAD_BYTES = 13;
const CRC_BYTES = 4;
const BYTES_MAX = streamsLimits.blockBytesMax.value;

/** A finished block. */
export interface WrittenBlock {
  readonly group: number;
  readonly bytes: Uint8Array;
  readonly crc: number;
  readonly entries: number;
}

/** Packs entries, given in order, into blocks. */
export class BlockWriter {
  readonly #emit: (block: WrittenBlock) => void;
  readonly #payload = new ByteWriter();
  #section = 0;
  #group = 0;
  #entries = 0;
  #entryStart = 0;

  constructor(emit: (block: WrittenBlock) => void) {
    this.#emit = emit;
  }

  /** Entries added from now on belong to this section and group. */
  enter(section: number, group: number): void {
    if (section === this.#section && group === this.#group) return;
    this.finish();
    this.#section = section;
    this.#group = group;
  }

  /** Append one entry to the returned writer, then call `endEntry`. */
  beginEntry(): ByteWriter {
    this.#entryStart = this.#payload.length;
    return this.#payload;
  }

  endEntry(): void {
    if (this.#entries > 0 && this.#payload.length > BYTES_MAX) this.#cut(this.#entryStart);
    this.#entries += 1;
  }

  /** Adds an entry that is already encoded: the bytes from `start` up to `end`. */
  addEncoded(bytes: Uint8Array, start?: number, end?: number): void {
    this.beginEntry().bytes(bytes, start, end);
    this.endEntry();
  }

  /** Emits the last block, if any entries are left. */
  finish(): void {
    this.#cut(this.#payload.length);
  }

  /** Emits the first `length` bytes of the payload as a block. */
  #cut(length: number): void {
    if (this.#entries === 0) return;
    const bytes = new Uint8Array(HEAD_BYTES + length + CRC_BYTES);
    const view = new DataView(bytes.buffer);
    view.setUint8(0, BLOCK_TAG);
    view.setUint16(1, this.#section);
    view.setUint16(3, this.#group);
    view.setUint32(5, this.#entries);
    view.setUint32(9, length);
    bytes.set(this.#payload.view(0, length), HEAD_BYTES);
    const crc = crc32(bytes.subarray(0, HEAD_BYTES + length));
    view.setUint32(HEAD_BYTES + length, crc);
    const entries = this.#entries;
    this.#payload.dropFirst(length);
    this.#entries = 0;
    this.#emit({ group: this.#group, bytes, crc, entries });
  }
}

/** A block with a valid checksum. Its entries have not been parsed. */
export interface Block {
  readonly section: number;
  readonly group: number;
  readonly entries: number;
  readonly crc: number;
  readonly payload: ByteReader;
  /** The whole block, as written. */
  readonly bytes: Uint8Array;
}

/** Reads the next block, including its tag. */
export function readBlock(reader: ByteReader): Block {
  const start = reader.at;
  const tag = reader.u8();
  if (tag !== BLOCK_TAG) reader.fail('a block', `tag ${tag}`, start);
  const section = reader.u16();
  const group = reader.u16();
  const entries = reader.u32();
  const length = reader.u32();
  reader.bytes(length);
  const end = reader.at;
  const crc = reader.u32();
  const actual = crc32(reader.view(start, end));
  if (crc !== actual) reader.fail(`checksum ${hex(actual)}`, hex(crc), end);
  if (entries === 0) reader.fail('a block with entries', 'none', start);
  if (length > BYTES_MAX && entries > 1) {
    reader.fail(`at most ${BYTES_MAX} bytes of entries`, String(length), start);
  }
  const payload = reader.part(start + HEAD_BYTES, end);
  return { section, group, entries, crc, payload, bytes: reader.view(start, reader.at) };
}

/**
 * The entries of a block. `after` is the position of the last key of the previous block, if that block has the same
 * section and group.
 */
export function readEntries<V, Ver>(
  { payload, group, entries: count }: Block,
  schema: StateSchema<V, Ver>,
  keyGroups: number,
  after: ByteRange | undefined,
): readonly ReadEntry<V, Ver>[] {
  const entries: ReadEntry<V, Ver>[] = [];
  let previous = after;
  while (entries.length < count) {
    const entry = readEntry(payload, schema);
    const keyRange = { start: entry.keyStart, end: entry.keyEnd };
    if (previous !== undefined && payload.compare(previous, keyRange) >= 0) {
      payload.fail('a higher key than the one before', showKey(entry.key), entry.start);
    }
    const actual = keyGroupOf(payload.view(entry.keyStart, entry.keyEnd), keyGroups);
    if (actual !== group) {
      payload.fail(`key group ${actual} for key ${showKey(entry.key)}`, String(group), entry.start);
    }
    entries.push(entry);
    previous = keyRange;
  }
  if (payload.left > 0) payload.fail('the end of the block', `${payload.left} more bytes`);
  return entries;
}

export function hex(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}
