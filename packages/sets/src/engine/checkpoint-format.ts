// The bytes of a checkpoint: a header, blocks of elements, and an end that states how much must have been
// read.
//
//   header   "SYNCSETS" · u16 format · u16 node · u16 length · cluster id · f64 time · u64 log number
//            · u32 length · version vector · u32 crc
//   block    u8 kind · u32 length · payload · u32 crc over the previous crc, kind, length and payload
//   payload  E, D: runs of varint length · set name · varint count · elements
//            element: varint length · member · varint number of dots · dots as (varint actor, varint counter),
//            where the actor is an index into the version vector
//            Z: u64 elements · u64 dots · u32 xor · u32 xor
//
// Big endian. Every byte is covered by a checksum, and each block's checksum by the next: a block that is lost,
// repeated or out of place is noticed. Blocks E hold each element once, blocks D dots that were dropped while the
// checkpoint was written, whose element may have come before. Nothing may follow the block Z.
import { assert, type Dot, SynclineError, VersionVector } from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { copyBytes } from '../byte-list.js';
import type { Digest } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import type { IdentityOptions } from './identity.js';

export const BlockKind = { elements: 0x45, dropped: 0x44, end: 0x5a } as const;
const FORMAT = 1;

const MAGIC = Buffer.from('SYNCSETS', 'latin1');
const BLOCK_HEAD_BYTES = 5;
const CRC_BYTES = 4;
const END_BYTES = 24;
/** Read in one step: a millisecond before the code is compiled. */
const STEP_ELEMENTS = 128;
const blockBytesMax = setsLimits.checkpointBlockBytesMax.value;
/** A block is closed once it is full, so it may be larger by one element and the name of its set. */
const payloadBytesMax =
  blockBytesMax + setsLimits.memberBytesMax.value + setsLimits.keyBytesMax.value + 65_536;

export interface CheckpointHeader extends IdentityOptions {
  readonly takenMs: number;
  /** It holds everything up to this record of the log. */
  readonly logNumber: number;
  readonly version: VersionVector;
}

/** Encodes a checkpoint part by part; each call of `take` returns what is complete. */
export class CheckpointEncoder {
  readonly #actors = new Map<number, number>();
  readonly #blockBytesMax: number;
  #bytes = Buffer.alloc(4 * blockBytesMax);
  #length = 0;
  #crc = 0;
  #blockStart = -1;
  #setName: Uint8Array | undefined;
  #countAt = 0;
  #count = 0;
  #elements = 0;
  #dots = 0;
  /** The previous dot's actor, and its index. */
  #actor = 0;
  #actorIndex = 0;

  constructor(header: CheckpointHeader, blockBytes: number = blockBytesMax) {
    this.#blockBytesMax = blockBytes;
    for (const { actor } of header.version.entries()) this.#actors.set(actor, this.#actors.size);
    const cluster = Buffer.from(header.clusterId);
    const version = header.version.toBytes();
    this.#reserve(64 + cluster.length + version.length);
    const bytes = this.#bytes;
    let at = MAGIC.copy(bytes, 0);
    at = bytes.writeUInt16BE(FORMAT, at);
    at = bytes.writeUInt16BE(header.nodeId, at);
    at = bytes.writeUInt16BE(cluster.length, at);
    at += cluster.copy(bytes, at);
    at = bytes.writeDoubleBE(header.takenMs, at);
    at = bytes.writeBigUInt64BE(BigInt(header.logNumber), at);
    at = bytes.writeUInt32BE(version.length, at);
    bytes.set(version, at);
    at += version.length;
    this.#crc = crc32(bytes.subarray(0, at));
    this.#length = bytes.writeUInt32BE(this.#crc, at);
  }

  get dots(): number {
    return this.#dots;
  }

  get readyBytes(): number {
    return this.#blockStart < 0 ? this.#length : this.#blockStart;
  }

  /** The member is in `buffer`. Members of one set must come with the same name object. */
  add(
    kind: typeof BlockKind.elements | typeof BlockKind.dropped,
    name: Uint8Array,
    dots: readonly Dot[],
    buffer: Uint8Array,
    start = 0,
    end = buffer.length,
  ): void {
    this.#reserve(64 + name.length + end - start + dots.length * 16);
    if (this.#blockStart < 0) this.#openBlock(kind);
    if (this.#setName !== name) this.#openRun(name);
    this.#varint(end - start);
    copyBytes(buffer, start, end, this.#bytes, this.#length);
    this.#length += end - start;
    this.#varint(dots.length);
    for (const { actor, counter } of dots) {
      if (actor !== this.#actor) this.#findActor(actor);
      this.#varint(this.#actorIndex);
      this.#varint(counter);
    }
    this.#count += 1;
    this.#elements += kind === BlockKind.elements ? 1 : 0;
    this.#dots += dots.length;
    if (this.#length - this.#blockStart >= this.#blockBytesMax) this.closeBlock();
  }

  closeBlock(): void {
    if (this.#blockStart < 0) return;
    this.#closeRun();
    this.#sealBlock();
  }

  /** The last block. `digest` is that of the checkpoint's moment. */
  end({ liveDots, xor }: Pick<Digest, 'liveDots' | 'xor'>): void {
    this.closeBlock();
    this.#reserve(BLOCK_HEAD_BYTES + END_BYTES + CRC_BYTES);
    this.#openBlock(BlockKind.end);
    let at = this.#bytes.writeBigUInt64BE(BigInt(this.#elements), this.#length);
    at = this.#bytes.writeBigUInt64BE(BigInt(liveDots), at);
    at = this.#bytes.writeUInt32BE(xor[0], at);
    this.#length = this.#bytes.writeUInt32BE(xor[1], at);
    this.#sealBlock();
  }

  take(): Uint8Array {
    const end = this.readyBytes;
    const taken = Uint8Array.prototype.slice.call(this.#bytes, 0, end);
    this.#bytes.copyWithin(0, end, this.#length);
    this.#length -= end;
    if (this.#blockStart >= 0) {
      this.#blockStart -= end;
      this.#countAt -= end;
    }
    return taken;
  }

  #openBlock(kind: number): void {
    this.#blockStart = this.#length;
    this.#bytes[this.#length] = kind;
    this.#length += BLOCK_HEAD_BYTES;
    this.#setName = undefined;
  }

  /** The number of elements is only known at the end of a run, so four bytes are reserved for its varint. */
  #openRun(name: Uint8Array): void {
    this.#closeRun();
    this.#varint(name.length);
    copyBytes(name, 0, name.length, this.#bytes, this.#length);
    this.#length += name.length;
    this.#setName = name;
    this.#countAt = this.#length;
    this.#count = 0;
    this.#length += 4;
  }

  #closeRun(): void {
    if (this.#setName === undefined) return;
    for (let byte = 0; byte < 4; byte += 1)
      this.#bytes[this.#countAt + byte] =
        ((this.#count >>> (7 * byte)) & 0x7f) | (byte < 3 ? 0x80 : 0);
    this.#setName = undefined;
  }

  #sealBlock(): void {
    const bytes = this.#bytes;
    bytes.writeUInt32BE(this.#length - this.#blockStart - BLOCK_HEAD_BYTES, this.#blockStart + 1);
    this.#crc = blockCrc(this.#crc, bytes.subarray(this.#blockStart, this.#length));
    this.#length = bytes.writeUInt32BE(this.#crc, this.#length);
    this.#blockStart = -1;
  }

  #findActor(actor: number): void {
    const index = this.#actors.get(actor);
    assert(index !== undefined, 'S4: a dot of a checkpoint is covered by its version');
    this.#actor = actor;
    this.#actorIndex = index;
  }

  #varint(value: number): void {
    const bytes = this.#bytes;
    let at = this.#length;
    let rest = value;
    for (; rest >= 2 ** 31; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
    let low = rest | 0; // shifts are faster, and enough for most
    for (; low >= 0x80; low >>>= 7) bytes[at++] = (low & 0x7f) | 0x80;
    bytes[at++] = low;
    this.#length = at;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, this.#length + count));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

export interface CheckpointVisitor {
  header(header: CheckpointHeader): void;
  /** Bytes from `start` to `end` of `buffer` are the name of the set that the following elements belong to. */
  set(buffer: Uint8Array, start: number, end: number): void;
  /** The list of dots may be reused for the next element. */
  element(start: number, end: number, dots: readonly Dot[], isNew: boolean): void;
  end(expected: { readonly elements: number } & Pick<Digest, 'liveDots' | 'xor'>): void;
}

/** Decodes a checkpoint from chunks. Throws `corrupt` at the first byte that cannot be right. */
export class CheckpointDecoder {
  readonly #path: string;
  readonly #visitor: CheckpointVisitor;
  #rest: Buffer = Buffer.alloc(0);
  #offset = 0;
  #crc = 0;
  #actors: readonly Dot['actor'][] = [];
  #counters: readonly number[] = [];
  #phase: 'header' | 'blocks' | 'done' = 'header';
  #at = 0;
  /** Reused: nearly every element has one dot. */
  readonly #oneDot: Dot[] = [];

  constructor(path: string, visitor: CheckpointVisitor) {
    this.#path = path;
    this.#visitor = visitor;
  }

  /** Each step reads some elements; others may run between two of them. */
  *push(chunk: Uint8Array): Generator<void, void, undefined> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    if (this.#phase === 'header' && !this.#readHeader()) return;
    while (this.#rest.length > 0) {
      const end = this.#checkBlock();
      if (end === 0) return;
      const payload = this.#rest.subarray(BLOCK_HEAD_BYTES, end);
      const kind = this.#rest[0];
      if (kind === BlockKind.end) this.#readEnd(payload);
      else if (kind === BlockKind.elements) yield* this.#readElements(payload, true);
      else if (kind === BlockKind.dropped) yield* this.#readElements(payload, false);
      else this.#fail('a block has an unknown kind');
      this.#skip(end + CRC_BYTES);
    }
  }

  finish(): void {
    if (this.#phase !== 'done' || this.#rest.length > 0) this.#fail('it is truncated');
  }

  #readHeader(): boolean {
    const rest = this.#rest;
    if (rest.length < 14) return false;
    if (!rest.subarray(0, 8).equals(MAGIC))
      this.#fail('it does not begin with a checkpoint header');
    const format = rest.readUInt16BE(8);
    if (format !== FORMAT) this.#fail(`its format is ${format}, this version reads ${FORMAT}`);
    const clusterEnd = 14 + rest.readUInt16BE(12);
    if (rest.length < clusterEnd + 20) return false;
    const versionStart = clusterEnd + 20;
    const versionEnd = versionStart + rest.readUInt32BE(clusterEnd + 16);
    if (versionEnd > payloadBytesMax) this.#fail('its version vector is too long');
    if (rest.length < versionEnd + CRC_BYTES) return false;
    this.#crc = crc32(rest.subarray(0, versionEnd));
    if (this.#crc !== rest.readUInt32BE(versionEnd)) this.#fail('its header has a wrong checksum');
    const version = VersionVector.fromBytes(
      Uint8Array.from(rest.subarray(versionStart, versionEnd)),
    );
    const dots = version.entries();
    this.#actors = dots.map(({ actor }) => actor);
    this.#counters = dots.map(({ counter }) => counter);
    this.#visitor.header({
      clusterId: rest.toString('utf8', 14, clusterEnd),
      nodeId: rest.readUInt16BE(10),
      takenMs: rest.readDoubleBE(clusterEnd),
      logNumber: Number(rest.readBigUInt64BE(clusterEnd + 8)),
      version,
    });
    this.#phase = 'blocks';
    this.#skip(versionEnd + CRC_BYTES);
    return true;
  }

  /** Where the next block ends; 0 when it is not complete yet. */
  #checkBlock(): number {
    const rest = this.#rest;
    if (this.#phase === 'done') this.#fail('there are bytes after its end');
    if (rest.length < BLOCK_HEAD_BYTES) return 0;
    const length = rest.readUInt32BE(1);
    if (length > payloadBytesMax) this.#fail('a block is too long');
    const end = BLOCK_HEAD_BYTES + length;
    if (rest.length < end + CRC_BYTES) return 0;
    const crc = blockCrc(this.#crc, rest.subarray(0, end));
    if (crc !== rest.readUInt32BE(end)) this.#fail('a block has a wrong checksum');
    this.#crc = crc;
    return end;
  }

  *#readElements(payload: Buffer, isNew: boolean): Generator<void, void, undefined> {
    this.#at = 0;
    while (this.#at < payload.length) {
      const nameStart = this.#span(payload);
      this.#visitor.set(payload, nameStart, this.#at);
      for (let left = this.#varint(payload); left > 0; left -= STEP_ELEMENTS) {
        this.#readSome(payload, Math.min(left, STEP_ELEMENTS), isNew);
        yield;
      }
    }
  }

  #readSome(payload: Buffer, count: number, isNew: boolean): void {
    for (let left = count; left > 0; left -= 1) {
      const start = this.#span(payload);
      const end = this.#at;
      const dotsCount = this.#varint(payload);
      if (dotsCount === 0) this.#fail('an element has no dot');
      const dots = dotsCount === 1 ? this.#oneDot : [];
      for (let index = 0; index < dotsCount; index += 1) dots[index] = this.#dot(payload);
      this.#visitor.element(start, end, dots, isNew);
    }
  }

  #dot(payload: Buffer): Dot {
    const index = this.#varint(payload);
    const actor = this.#actors[index];
    const counter = this.#varint(payload);
    if (actor === undefined || counter < 1 || counter > (this.#counters[index] ?? 0))
      return this.#fail('a dot is not covered by its version');
    return { actor, counter };
  }

  /** Skips a length and as many bytes; returns where they start. */
  #span(payload: Buffer): number {
    const length = this.#varint(payload);
    const start = this.#at;
    this.#at += length;
    if (this.#at > payload.length) this.#fail('a name or member is truncated');
    return start;
  }

  #varint(payload: Buffer): number {
    let at = this.#at;
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = payload[at];
      if (byte === undefined || shift > 49) return this.#fail('a number is truncated');
      at += 1;
      value = shift < 28 ? value | ((byte & 0x7f) << shift) : value + (byte & 0x7f) * 2 ** shift;
      if (byte >= 0x80) continue;
      this.#at = at;
      return value;
    }
  }

  #readEnd(payload: Buffer): void {
    if (payload.length !== END_BYTES) this.#fail('its end has a wrong length');
    this.#phase = 'done';
    this.#visitor.end({
      elements: Number(payload.readBigUInt64BE(0)),
      liveDots: Number(payload.readBigUInt64BE(8)),
      xor: [payload.readUInt32BE(16), payload.readUInt32BE(20)],
    });
  }

  #skip(count: number): void {
    this.#rest = this.#rest.subarray(count);
    this.#offset += count;
  }

  #fail(why: string): never {
    throw damagedCheckpoint(this.#path, `${why} (near byte ${this.#offset})`);
  }
}

export function damagedCheckpoint(path: string, why: string): SynclineError {
  return new SynclineError(
    'corrupt',
    `the checkpoint ${path} is damaged: ${why}. Restore the directory from a backup, or move it away and start ` +
      'with an empty one, which loads the sets from a peer if there is one.',
    { details: { path } },
  );
}

function blockCrc(previous: number, headAndPayload: Uint8Array): number {
  return crc32(
    headAndPayload,
    crc32(Uint8Array.of(previous >>> 24, previous >>> 16, previous >>> 8, previous)),
  );
}
