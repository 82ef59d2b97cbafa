// The messages of a pull, as syncline.mesh.v1 defines them, with their own codec: no node loads Protobuf.
//
//   B: open ──▶ A: offer ──▶ B: more ──▶ A: payload … symbols … ──▶ B: done
//
// Unknown and repeated fields are refused. A payload travels as bytes, see payload.ts.
import { SynclineError, VersionVector } from '@syncline/kernel';
import { WireFields, WireReader, WireWriter, writeVarint } from '@syncline/kernel/wire';
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

/** The fields of each, see WireFields. */
const SHAPES: Readonly<Record<number, string>> = {
  [MessageKind.open]: 'nbnwwn',
  [MessageKind.offer]: 'nnbnnww',
  [MessageKind.symbols]: 'nnbbbbn',
  [MessageKind.more]: 'nnn',
  [MessageKind.done]: 'nnb',
};

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

const out = new WireWriter();

export function encodePull(message: PullMessage): Uint8Array {
  if (message.kind === 'payload') return message.encoded;
  out.clear();
  out.uint(1, message.session);
  if (message.kind === 'open') {
    out.bytes(2, message.version.toBytes());
    out.uint(3, message.liveDots);
    out.fixed32(4, message.xor[0]);
    out.fixed32(5, message.xor[1]);
    out.bool(6, message.listing);
  } else if (message.kind === 'offer') {
    out.uint(2, verdicts.indexOf(message.verdict) + 1);
    out.bytes(3, message.version.toBytes());
    out.uint(4, message.unseen);
    out.uint(5, message.common);
    out.fixed32(6, message.xor[0]);
    out.fixed32(7, message.xor[1]);
  } else if (message.kind === 'symbols') {
    out.uint(2, message.from);
    out.bytes(3, message.sums);
    out.bytes(4, message.checks);
    out.bytes(5, packSigned(message.counts));
    if (message.listing !== undefined) out.bytes(6, message.listing);
    out.bool(7, message.last);
  } else if (message.kind === 'more') {
    out.uint(2, message.payloadFrames);
    out.uint(3, message.symbolBlocks);
  } else {
    out.uint(2, message.isApplied ? 1 : 2);
    out.bytes(3, message.version.toBytes());
  }
  return out.copy();
}

/** Throws `invalid-argument` for anything that `encodePull` does not produce. */
export function decodePull(kind: number, bytes: Uint8Array): PullMessage {
  if (kind === MessageKind.payload)
    return { kind: 'payload', session: payloadSession(bytes), encoded: bytes };
  const shape = SHAPES[kind];
  if (shape === undefined)
    throw new SynclineError('invalid-argument', `messages of kind ${kind} are unknown`);
  const fields = new WireFields('message of a pull', bytes, shape);
  const version = (field: number) => VersionVector.fromBytes(fields.bytes(field));
  const session = fields.number(1);
  switch (kind) {
    case MessageKind.open:
      return {
        kind: 'open',
        session,
        version: version(2),
        liveDots: fields.number(3),
        xor: [fields.number(4), fields.number(5)],
        listing: fields.number(6) === 1,
      };
    case MessageKind.offer:
      return {
        kind: 'offer',
        session,
        verdict: verdicts[fields.number(2) - 1] ?? fields.fail('the verdict is unknown'),
        version: version(3),
        unseen: fields.number(4),
        common: fields.number(5),
        xor: [fields.number(6), fields.number(7)],
      };
    case MessageKind.symbols: {
      const counts = unpackSigned(fields.bytes(5));
      return {
        kind: 'symbols',
        session,
        from: fields.number(2),
        sums: fields.bytes(3),
        checks: fields.bytes(4),
        counts,
        listing: counts.length === 0 ? fields.bytes(6) : undefined,
        last: fields.number(7) === 1,
      };
    }
    case MessageKind.more:
      return {
        kind: 'more',
        session,
        payloadFrames: fields.number(2),
        symbolBlocks: fields.number(3),
      };
    default:
      return { kind: 'done', session, isApplied: fields.number(2) === 1, version: version(3) };
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
  const reader = new WireReader('message of a pull', bytes);
  const values = new Int32Array(bytes.length);
  let count = 0;
  while (!reader.isAtEnd) {
    const zigzag = reader.uint32();
    values[count] = (zigzag >>> 1) ^ -(zigzag & 1);
    count += 1;
  }
  return values.subarray(0, count);
}
