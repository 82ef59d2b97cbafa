// The messages of a pull, as syncline.mesh.v1 defines them, by a codec of their own: no node loads Protobuf.
//
//   B: open ──▶ A: offer ──▶ B: more ──▶ A: payload … symbols … ──▶ B: done
//
// Unknown and repeated fields are refused. A payload travels as bytes, see payload.ts.
import { VersionVector } from '@syncline/kernel';
import { writeVarint } from '../operation/varint.js';
import { WireCursor } from '../operation/wire-cursor.js';
import { payloadSession } from './payload.js';

/** Field numbers in Frame. */
export const MessageKind = {
  open: 11,
  offer: 12,
  payload: 13,
  symbols: 14,
  more: 15,
  done: 16,
} as const;

export type Verdict = 'nothing' | 'pull' | 'busy' | 'diverged';
const verdicts: readonly Verdict[] = ['nothing', 'pull', 'busy', 'diverged'];

export type Words = readonly [number, number];

export interface OpenMessage {
  readonly kind: 'open';
  readonly session: number;
  /** Version, number of live dots and their xor at one moment. */
  readonly version: VersionVector;
  readonly liveDots: number;
  readonly xor: Words;
  /** Symbols did not decode last time: list the dots. */
  readonly listing: boolean;
}

export interface OfferMessage {
  readonly kind: 'offer';
  readonly session: number;
  readonly verdict: Verdict;
  readonly version: VersionVector;
  /** Live dots that the puller has not seen. */
  readonly unseen: number;
  /** Number and xor of the live dots that both have seen. */
  readonly common: number;
  readonly xor: Words;
}

export interface SymbolsMessage {
  readonly kind: 'symbols';
  readonly session: number;
  readonly from: number;
  readonly sums: Uint8Array;
  readonly checks: Uint8Array;
  readonly counts: Int32Array;
  /** In place of symbols: a chunk of the listing. */
  readonly listing: Uint8Array | undefined;
  /** Of the listing. */
  readonly last: boolean;
}

export interface MoreMessage {
  readonly kind: 'more';
  readonly session: number;
  readonly payloadFrames: number;
  readonly symbolBlocks: number;
}

export interface DoneMessage {
  readonly kind: 'done';
  readonly session: number;
  readonly isApplied: boolean;
  readonly version: VersionVector;
}

export interface PayloadMessage {
  readonly kind: 'payload';
  readonly session: number;
  readonly encoded: Uint8Array;
}

export type PullMessage =
  | OpenMessage
  | OfferMessage
  | PayloadMessage
  | SymbolsMessage
  | MoreMessage
  | DoneMessage;

export function encodePull(message: PullMessage): Uint8Array {
  if (message.kind === 'payload') return message.encoded;
  const out = new FieldWriter();
  out.number(1, message.session);
  if (message.kind === 'open') {
    out.bytes(2, message.version.toBytes());
    out.number(3, message.liveDots);
    out.word(4, message.xor[0]);
    out.word(5, message.xor[1]);
    out.number(6, message.listing ? 1 : 0);
  } else if (message.kind === 'offer') {
    out.number(2, verdicts.indexOf(message.verdict) + 1);
    out.bytes(3, message.version.toBytes());
    out.number(4, message.unseen);
    out.number(5, message.common);
    out.word(6, message.xor[0]);
    out.word(7, message.xor[1]);
  } else if (message.kind === 'symbols') {
    out.number(2, message.from);
    out.bytes(3, message.sums);
    out.bytes(4, message.checks);
    out.bytes(5, packSigned(message.counts));
    if (message.listing !== undefined) out.bytes(6, message.listing);
    out.number(7, message.last ? 1 : 0);
  } else if (message.kind === 'more') {
    out.number(2, message.payloadFrames);
    out.number(3, message.symbolBlocks);
  } else {
    out.number(2, message.isApplied ? 1 : 2);
    out.bytes(3, message.version.toBytes());
  }
  return out.take();
}

/** Throws `invalid-argument` for anything that `encodePull` does not make. */
export function decodePull(kind: number, bytes: Uint8Array): PullMessage {
  if (kind === MessageKind.payload)
    return { kind: 'payload', session: payloadSession(bytes), encoded: bytes };
  const fields = new FieldReader(bytes);
  const session = fields.number(1);
  const message = ((): PullMessage => {
    switch (kind) {
      case MessageKind.open:
        return {
          kind: 'open',
          session,
          version: fields.version(2),
          liveDots: fields.number(3),
          xor: [fields.number(4), fields.number(5)],
          listing: fields.number(6) === 1,
        };
      case MessageKind.offer:
        return {
          kind: 'offer',
          session,
          verdict: verdicts[fields.number(2) - 1] ?? fields.fail('the verdict is unknown'),
          version: fields.version(3),
          unseen: fields.number(4),
          common: fields.number(5),
          xor: [fields.number(6), fields.number(7)],
        };
      case MessageKind.symbols: {
        const [from, sums, checks] = [fields.number(2), fields.bytes(3), fields.bytes(4)];
        const counts = unpackSigned(fields.bytes(5));
        const listing = fields.bytes(6);
        const last = fields.number(7) === 1;
        const isListing = counts.length === 0;
        return {
          kind: 'symbols',
          session,
          from,
          sums,
          checks,
          counts,
          listing: isListing ? listing : undefined,
          last,
        };
      }
      case MessageKind.more:
        return {
          kind: 'more',
          session,
          payloadFrames: fields.number(2),
          symbolBlocks: fields.number(3),
        };
      case MessageKind.done:
        return {
          kind: 'done',
          session,
          isApplied: fields.number(2) === 1,
          version: fields.version(3),
        };
      default:
        return fields.fail(`messages of kind ${kind} are unknown`);
    }
  })();
  fields.expectAllRead();
  return message;
}

const VARINT = 0;
const BYTES = 2;
const WORD = 5;

class FieldWriter {
  #bytes = new Uint8Array(256);
  #length = 0;

  number(field: number, value: number): void {
    if (value === 0) return;
    this.#reserve(8);
    this.#bytes[this.#length] = (field << 3) | VARINT;
    this.#length = writeVarint(this.#bytes, this.#length + 1, value);
  }

  word(field: number, value: number): void {
    if (value === 0) return;
    this.#reserve(8);
    this.#bytes[this.#length] = (field << 3) | WORD;
    new DataView(this.#bytes.buffer).setUint32(this.#length + 1, value, true);
    this.#length += 5;
  }

  bytes(field: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#reserve(8 + bytes.length);
    this.#bytes[this.#length] = (field << 3) | BYTES;
    const at = writeVarint(this.#bytes, this.#length + 1, bytes.length);
    this.#bytes.set(bytes, at);
    this.#length = at + bytes.length;
  }

  take(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

class FieldReader {
  readonly #cursor: WireCursor;
  readonly #fields = new Map<number, number | Uint8Array>();

  constructor(bytes: Uint8Array) {
    const cursor = new WireCursor(bytes, 'invalid-argument', 'message of a pull');
    this.#cursor = cursor;
    while (cursor.position < bytes.length) {
      const tag = cursor.varint(bytes.length);
      if (this.#fields.has(tag >>> 3)) cursor.fail(`field ${tag >>> 3} comes twice`);
      this.#fields.set(tag >>> 3, this.#value(tag & 7));
    }
  }

  number(field: number): number {
    const value = this.#take(field) ?? 0;
    return typeof value === 'number' ? value : this.fail(`field ${field} is no number`);
  }

  bytes(field: number): Uint8Array {
    const value = this.#take(field) ?? new Uint8Array(0);
    return typeof value === 'number' ? this.fail(`field ${field} is a number`) : value;
  }

  version(field: number): VersionVector {
    return VersionVector.fromBytes(this.bytes(field));
  }

  expectAllRead(): void {
    for (const field of this.#fields.keys()) this.fail(`field ${field} is unknown`);
  }

  fail(why: string): never {
    return this.#cursor.fail(why);
  }

  #take(field: number): number | Uint8Array | undefined {
    const value = this.#fields.get(field);
    this.#fields.delete(field);
    return value;
  }

  #value(type: number): number | Uint8Array {
    const cursor = this.#cursor;
    const { length } = cursor.bytes;
    if (type === VARINT) return cursor.varint(length);
    if (type === WORD) {
      if (cursor.position + 4 > length) cursor.fail('a word goes beyond the end');
      cursor.position += 4;
      return cursor.view.getUint32(cursor.position - 4, true);
    }
    if (type !== BYTES) cursor.fail(`wire type ${type} is unknown`);
    const end = cursor.lengthEnd(length);
    const bytes = cursor.bytes.subarray(cursor.position, end);
    cursor.position = end;
    return bytes;
  }
}

/** As a packed `repeated sint32`. */
function packSigned(values: Int32Array): Uint8Array {
  const bytes = new Uint8Array(values.length * 5);
  let at = 0;
  for (const value of values) at = writeVarint(bytes, at, ((value << 1) ^ (value >> 31)) >>> 0);
  return bytes.subarray(0, at);
}

function unpackSigned(bytes: Uint8Array): Int32Array {
  const cursor = new WireCursor(bytes, 'invalid-argument', 'message of a pull');
  const values = new Int32Array(bytes.length);
  let count = 0;
  while (cursor.position < bytes.length) {
    const zigzag = cursor.varint(bytes.length);
    values[count] = (zigzag >>> 1) ^ -(zigzag & 1);
    count += 1;
  }
  return values.subarray(0, count);
}
