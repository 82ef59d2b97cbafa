// The snapshot file, format 1: a header, blocks in order, and a trailer that counts them.
//
//   file   = "SYNCSNAP" · u16 format = 1 · u16 flags (1 = some keys only) · u32 n · header JSON (n bytes)
//            · u32 crc of everything so far · blocks · end
//   end    = 'E' · u64 blocks · u64 entries · u32 crc of the blocks' checksums and these two counts
//
// All numbers are big-endian, and checksums are CRC-32. Blocks are ordered by section and key group; a snapshot of one
// state has only section 0. Nothing may follow the end.
//
// X9  Any change to the bytes of a snapshot is detected: as `corrupt`, or as `too-new` if the changed byte is in the
//     format number.
import { assert } from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { streamsLimits } from '../limits.js';
import { limitExceeded, tooNew } from '../state/state-error.js';
import {
  checkStoredSchema,
  type StateSchema,
  type StoredSchema,
  storedSchema,
} from '../state/state-schema.js';
import {
  BLOCK_TAG,
  type Block,
  BlockWriter,
  hex,
  readBlock,
  readEntries,
  type WrittenBlock,
} from './block.js';
import { type ByteRange, ByteReader } from './byte-reader.js';
import { ByteWriter } from './byte-writer.js';
import type { ReadEntry } from './entry.js';

const MAGIC = 'SYNCSNAP';
const FORMAT = 1;
const SOME_KEYS_ONLY = 1;
const END_TAG = 0x45; // 'E'
const END_BYTES = 21;

export interface SnapshotWriterOptions {
  /** The snapshot contains only some keys, so it cannot replace a whole state. */
  readonly isPartial: boolean;
  /** A larger snapshot is rejected. */
  readonly bytesMax: number;
}

/** Builds a snapshot of one state in memory. Groups and entries must be added in order. */
export class SnapshotWriter<V, Ver> {
  readonly blocks = new BlockWriter((block) => this.#take(block));
  readonly #schema: StateSchema<V, Ver>;
  readonly #options: SnapshotWriterOptions;
  readonly #parts: Uint8Array[] = [];
  readonly #blockCrcs = new ByteWriter();
  #bytes = 0;
  #entries = 0;

  constructor(schema: StateSchema<V, Ver>, options: SnapshotWriterOptions) {
    this.#schema = schema;
    this.#options = options;
    this.#push(encodeSnapshotStart(storedSchema(schema), options.isPartial ? SOME_KEYS_ONLY : 0));
  }

  /** Size of the header and the finished blocks. */
  get bytes(): number {
    return this.#bytes;
  }

  finish(): Uint8Array {
    this.blocks.finish();
    this.#push(encodeSnapshotEnd(this.#blockCrcs, this.#entries));
    const snapshot = new Uint8Array(this.#bytes);
    let at = 0;
    for (const part of this.#parts) {
      snapshot.set(part, at);
      at += part.length;
    }
    return snapshot;
  }

  #take({ bytes, crc, entries }: WrittenBlock): void {
    this.#blockCrcs.u32(crc);
    this.#entries += entries;
    this.#push(bytes);
  }

  #push(part: Uint8Array): void {
    this.#bytes += part.length;
    const { bytesMax } = this.#options;
    if (this.#bytes > bytesMax) {
      throw limitExceeded(
        'snapshotBytesMax',
        `the snapshot of state "${this.#schema.uid}" takes more than ${bytesMax} bytes`,
      );
    }
    this.#parts.push(part);
  }
}

export function encodeSnapshotStart(header: unknown, flags: number): Uint8Array {
  const json = Buffer.from(JSON.stringify(header));
  const writer = new ByteWriter();
  writer.utf8(MAGIC);
  writer.u16(FORMAT);
  writer.u16(flags);
  writer.u32(json.length);
  writer.bytes(json);
  writer.u32(crc32(writer.view()));
  return writer.copy();
}

/** `blockCrcs` contains the checksums of all blocks. */
export function encodeSnapshotEnd(blockCrcs: ByteWriter, entries: number): Uint8Array {
  const blocks = blockCrcs.length / 4;
  blockCrcs.u64(blocks);
  blockCrcs.u64(entries);
  const end = new ByteWriter();
  end.u8(END_TAG);
  end.u64(blocks);
  end.u64(entries);
  end.u32(crc32(blockCrcs.view()));
  return end.copy();
}

/** Reads a snapshot: the header immediately, the rest block by block. */
export class SnapshotReader {
  readonly header: StoredSchema;
  readonly isPartial: boolean;
  readonly #reader: ByteReader;
  readonly #blockCrcs = new ByteWriter();
  #entries = 0;

  /** Throws `corrupt` or `too-new`. */
  constructor(bytes: Uint8Array) {
    this.#reader = new ByteReader('snapshot', bytes);
    const { header, flags } = readHeader(this.#reader);
    this.header = header;
    this.isPartial = flags === SOME_KEYS_ONLY;
  }

  /** Throws `incompatible` or `too-new` if the state cannot be restored from this snapshot. */
  checkFits<V, Ver>(schema: StateSchema<V, Ver>): void {
    const { keyGroups } = schema; // those of the snapshot may differ
    checkStoredSchema('the snapshot', schema, { ...this.header, keyGroups });
  }

  /** The entries, one block at a time. The snapshot is only known to be valid once this completes without throwing. */
  *entries<V, Ver>(schema: StateSchema<V, Ver>): Generator<readonly ReadEntry<V, Ver>[], void> {
    let previous: { readonly group: number; readonly lastKey: ByteRange } | undefined;
    for (const block of this.#blocks()) {
      const { group } = block;
      if (previous !== undefined && group < previous.group) {
        block.payload.fail(`key group ${previous.group} or higher`, String(group));
      }
      const after = group === previous?.group ? previous.lastKey : undefined;
      const entries = readEntries(block, schema, this.header.keyGroups, after);
      if (schema.kind === 'aggregate' && entries.some(({ value }) => value === undefined)) {
        block.payload.fail('values only, since this is an aggregate', 'a tombstone');
      }
      const last = entries.at(-1);
      assert(last !== undefined, 'a block has entries');
      previous = { group, lastKey: { start: last.keyStart, end: last.keyEnd } };
      yield entries;
    }
  }

  *#blocks(): Generator<Block, void> {
    for (const block of this.blocks()) {
      if (block.section !== 0) block.payload.fail('section 0', String(block.section));
      yield block;
    }
  }

  /** The blocks of all sections. The file is only known to be valid once this completes without throwing. */
  *blocks(): Generator<Block, void> {
    const reader = this.#reader;
    while (reader.left > 0 && reader.view(reader.at, reader.at + 1)[0] === BLOCK_TAG) {
      const block = readBlock(reader);
      this.#blockCrcs.u32(block.crc);
      this.#entries += block.entries;
      yield block;
    }
    this.#readEnd();
  }

  #readEnd(): void {
    const reader = this.#reader;
    const start = reader.at;
    const tag = reader.u8();
    if (tag !== END_TAG) reader.fail('a block or the end', `tag ${tag}`, start);
    const counts = { blocks: reader.u64(), entries: reader.u64() };
    const blocks = this.#blockCrcs.length / 4;
    if (counts.blocks !== blocks) reader.fail(`${blocks} blocks`, String(counts.blocks), start + 1);
    if (counts.entries !== this.#entries) {
      reader.fail(`${this.#entries} entries`, String(counts.entries), start + 9);
    }
    this.#blockCrcs.u64(blocks);
    this.#blockCrcs.u64(this.#entries);
    const actual = crc32(this.#blockCrcs.view());
    const crc = reader.u32();
    if (crc !== actual) reader.fail(`checksum ${hex(actual)}`, hex(crc), start + END_BYTES - 4);
    if (reader.left > 0) reader.fail('the end', `${reader.left} more bytes`);
  }
}

function readHeader(reader: ByteReader): { header: StoredSchema; flags: number } {
  const magic = Buffer.from(reader.bytes(MAGIC.length)).toString('latin1');
  if (magic !== MAGIC) reader.fail(`"${MAGIC}"`, JSON.stringify(magic), 0);
  const format = reader.u16();
  if (format > FORMAT) throw tooNew('the format of the snapshot', format, FORMAT);
  if (format < FORMAT) reader.fail(`format ${FORMAT}`, String(format), reader.at - 2);
  const flags = reader.u16();
  const json = reader.bytes(reader.u32());
  const end = reader.at;
  const crc = reader.u32();
  const actual = crc32(reader.view(0, end));
  if (crc !== actual) reader.fail(`checksum ${hex(actual)}`, hex(crc), end);
  if (flags > SOME_KEYS_ONLY) throw tooNew('the flags of the snapshot', flags, SOME_KEYS_ONLY);
  return { header: parseHeader(json) ?? reader.fail('a header', 'other JSON', end), flags };
}

function parseHeader(json: Uint8Array): StoredSchema | undefined {
  try {
    const header = JSON.parse(Buffer.from(json).toString('utf8')) as StoredSchema;
    const { keyGroups, codec } = header;
    const isSound =
      Number.isInteger(keyGroups) &&
      keyGroups >= 1 &&
      keyGroups <= streamsLimits.keyGroupsMax.value &&
      Number.isSafeInteger(codec.version);
    return isSound ? header : undefined;
  } catch {
    return undefined;
  }
}
