// The bytes of a segment log: file names, the header of a segment, the chain of record checksums, and what is
// remembered of each file.
//
//   header   "SYLG" · u16 format · u16 check of these six bytes
//            · u8 owner length · owner · u64 first number · u32 crc of the record before · u32 crc
//   record   u32 body length · u32 crc · u8 kind · body
//
// All integers are big endian. A record's crc covers the crc of the record before it, its own number, its
// length, its kind and its body, so a lost, torn, moved or foreign record breaks the chain. The first
// eight bytes of a header have the same form in every format, so that a newer one can be distinguished from
// damage.
import { assert } from '../assert.js';
import { crc32, crc32Between } from '../hash/crc32.js';
import { kernelLimits } from '../limits.js';

export const RECORD_HEAD_BYTES = 9;
export const OWNER_BYTES_MAX = 255;

const MAGIC = 0x53594c47; // "SYLG"
const FORMAT = 1;
const PREAMBLE_BYTES = 8;
/** The header without its owner. */
const FIXED_HEADER_BYTES = PREAMBLE_BYTES + 1 + 8 + 4 + 4;
export const HEADER_BYTES_MAX = FIXED_HEADER_BYTES + OWNER_BYTES_MAX;

/** Crc that the first record of a new log follows. */
export const CHAIN_START = 0;

const NAME = /^(\d{16})\.log$/;

export function segmentPath(directory: string, firstNumber: number): string {
  return `${directory}/${String(firstNumber).padStart(16, '0')}.log`;
}

/** Undefined if the file is not a segment. */
export function parseSegmentName(name: string): number | undefined {
  const digits = NAME.exec(name)?.[1];
  const firstNumber = Number(digits);
  return digits !== undefined && Number.isSafeInteger(firstNumber) ? firstNumber : undefined;
}

export interface SegmentHeader {
  readonly owner: Uint8Array;
  readonly firstNumber: number;
  /** Crc of the last record before this segment. */
  readonly chainCrc: number;
}

export type DecodedHeader =
  | { readonly kind: 'ok'; readonly header: SegmentHeader; readonly bytes: number }
  | { readonly kind: 'too-new'; readonly format: number }
  | { readonly kind: 'damaged' };

export function encodeSegmentHeader({ owner, firstNumber, chainCrc }: SegmentHeader): Uint8Array {
  assert(owner.length <= OWNER_BYTES_MAX, 'the owner of a segment has at most 255 bytes');
  const bytes = new Uint8Array(FIXED_HEADER_BYTES + owner.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC);
  view.setUint16(4, FORMAT);
  view.setUint16(6, crc32Between(bytes, 0, 6, 0) & 0xffff);
  view.setUint8(PREAMBLE_BYTES, owner.length);
  bytes.set(owner, PREAMBLE_BYTES + 1);
  const rest = PREAMBLE_BYTES + 1 + owner.length;
  view.setBigUint64(rest, BigInt(firstNumber));
  view.setUint32(rest + 8, chainCrc);
  view.setUint32(rest + 12, crc32Between(bytes, 0, rest + 12, 0));
  return bytes;
}

/** `bytes` are the first of the file, at least HEADER_BYTES_MAX of them or all. */
export function decodeSegmentHeader(bytes: Uint8Array): DecodedHeader {
  if (bytes.length < FIXED_HEADER_BYTES) return { kind: 'damaged' };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isOurs =
    view.getUint32(0) === MAGIC && view.getUint16(6) === (crc32Between(bytes, 0, 6, 0) & 0xffff);
  if (!isOurs) return { kind: 'damaged' };
  const format = view.getUint16(4);
  if (format > FORMAT) return { kind: 'too-new', format };
  const ownerEnd = PREAMBLE_BYTES + 1 + view.getUint8(PREAMBLE_BYTES);
  const crcAt = ownerEnd + 12;
  if (format !== FORMAT || bytes.length < crcAt + 4) return { kind: 'damaged' };
  if (view.getUint32(crcAt) !== crc32Between(bytes, 0, crcAt, 0)) return { kind: 'damaged' };
  const header = {
    owner: bytes.slice(PREAMBLE_BYTES + 1, ownerEnd),
    firstNumber: Number(view.getBigUint64(ownerEnd)),
    chainCrc: view.getUint32(ownerEnd + 8),
  };
  return { kind: 'ok', header, bytes: crcAt + 4 };
}

/** Numbers consecutive records and computes their checksums. */
export class RecordChain {
  readonly #prefix = new Uint8Array(17);
  readonly #view = new DataView(this.#prefix.buffer);
  #nextNumber: number;
  #crc: number;

  constructor(nextNumber: number, crc: number) {
    this.#nextNumber = nextNumber;
    this.#crc = crc;
  }

  get nextNumber(): number {
    return this.#nextNumber;
  }

  /** Of the last record. */
  get crc(): number {
    return this.#crc;
  }

  /** Checksum of the next record; `length` is that of all parts of its body together. */
  crcOf(kind: number, length: number, parts: readonly Uint8Array[]): number {
    let crc = this.#prefixCrc(kind, length);
    for (const part of parts) crc = crc32(part, crc);
    return crc;
  }

  crcOfBody(kind: number, body: Uint8Array): number {
    return crc32(body, this.#prefixCrc(kind, body.length));
  }

  /** Makes the next record the last one and returns its number. */
  advance(crc: number): number {
    const number = this.#nextNumber;
    this.#nextNumber = number + 1;
    this.#crc = crc;
    return number;
  }

  #prefixCrc(kind: number, length: number): number {
    const view = this.#view;
    const number = this.#nextNumber;
    view.setUint32(0, this.#crc);
    view.setUint32(4, Math.floor(number / 2 ** 32));
    view.setUint32(8, number >>> 0);
    view.setUint32(12, length);
    view.setUint8(16, kind);
    return crc32Between(this.#prefix, 0, 17, 0);
  }
}

const INDEX_STEP_BYTES = kernelLimits.logIndexStepBytes.value;

interface Mark {
  readonly number: number;
  /** Where this record begins. */
  readonly offset: number;
}

/** One file of the log: where it begins, how long it is, and the positions of some of its records. */
export class Segment {
  readonly path: string;
  readonly firstNumber: number;
  /** Length of the file. */
  bytes: number;
  readonly #marks: Mark[] = [];

  constructor(directory: string, firstNumber: number, bytes: number) {
    this.path = segmentPath(directory, firstNumber);
    this.firstNumber = firstNumber;
    this.bytes = bytes;
  }

  /** Remembers where a record begins, if it is far enough from the last one remembered. */
  mark(number: number, offset: number): void {
    const last = this.#marks.at(-1);
    if (last !== undefined && offset - last.offset < INDEX_STEP_BYTES) return;
    this.#marks.push({ number, offset });
  }

  /** Bytes from the last remembered record that is not after `number` to the end. */
  bytesFrom(number: number): number {
    const mark = this.#marks.findLast((each) => each.number <= number);
    return this.bytes - (mark?.offset ?? 0);
  }
}
