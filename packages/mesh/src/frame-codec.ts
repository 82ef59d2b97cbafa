// A hand-written codec for the frames of syncline.mesh.v1: the Protobuf runtime is slow to load, and a node
// needs only this part of it. A property test compares the bytes with those of Protobuf-ES.
//
// On the wire a frame is its length as u32, big endian, and the Frame message. Dots and version vectors are
// bytes, see proto/syncline/mesh/v1/mesh.proto.
//
// M1  Decoding undoes encoding. Any other bytes are refused with `invalid-argument`.
import {
  DOT_BYTES,
  type Dot,
  readDot,
  SynclineError,
  unreachable,
  VersionVector,
  writeDot,
} from '@syncline/kernel';
import {
  varintBytes,
  WireFields,
  WireReader,
  WireWriter,
  writeVarint,
} from '@syncline/kernel/wire';
import { meshLimits } from './limits.js';

export const LENGTH_BYTES = 4;

/** Why a connection ends. */
export const closeCodes = {
  protocol: 1,
  cluster: 2,
  version: 3,
  refused: 4,
  duplicate: 5,
  'node-id-in-use': 6,
  shutdown: 7,
  overload: 8,
} as const;

export type CloseCode = keyof typeof closeCodes;

export const nackReasons = { overflow: 1, gap: 2, evicted: 3 } as const;

export type NackReason = keyof typeof nackReasons;

export interface HelloFrame {
  readonly kind: 'hello';
  readonly versionMin: number;
  readonly versionMax: number;
  readonly clusterId: string;
  readonly nodeId: number;
  readonly toNodeId: number;
  readonly nonce: Uint8Array;
}

export interface AuthFrame {
  readonly kind: 'auth';
  readonly proof: Uint8Array;
  readonly version: number;
  readonly epoch: number;
  readonly bootId: Uint8Array;
  readonly snappy: boolean;
}

export interface CloseFrame {
  readonly kind: 'close';
  readonly code: CloseCode;
  readonly text: string;
}

export interface HeartbeatFrame {
  readonly kind: 'heartbeat';
  readonly sequence: number;
  readonly isReply: boolean;
  readonly channels: readonly ChannelState[];
}

export interface ChannelState {
  readonly name: string;
  readonly version: VersionVector;
}

/** Frames of one channel of a connection. */
export type ChannelFrame =
  | { readonly kind: 'operations'; readonly encoded: Uint8Array }
  | { readonly kind: 'ack'; readonly received: Dot | undefined; readonly applied: Dot | undefined }
  | { readonly kind: 'nack'; readonly reason: NackReason; readonly expected: Dot | undefined }
  | { readonly kind: 'version-query'; readonly id: number }
  | { readonly kind: 'version-reply'; readonly id: number; readonly version: VersionVector }
  | { readonly kind: 'message'; readonly field: number; readonly body: Uint8Array };

/** Frames of the connection itself. */
export type LinkFrame =
  | HelloFrame
  | AuthFrame
  | CloseFrame
  | HeartbeatFrame
  | { readonly kind: 'snappy'; readonly compressed: Uint8Array };

export type Frame =
  | (LinkFrame & { readonly channel: 0 })
  | (ChannelFrame & { readonly channel: number });

export type FrameKind = Frame['kind'];

/** Field numbers in the Frame message. Messages of slices have those from 11 to 16. */
const fieldNumbers = {
  hello: 2,
  auth: 3,
  close: 4,
  heartbeat: 5,
  operations: 6,
  ack: 7,
  nack: 8,
  'version-query': 9,
  'version-reply': 10,
  snappy: 17,
} as const satisfies Record<Exclude<FrameKind, 'message'>, number>;

export const MESSAGE_FIELD_MIN = 11;
export const MESSAGE_FIELD_MAX = 16;

const channelTag = 1 << 3;
const delimitedType = 2;
const nameBytesMax = meshLimits.nameBytesMax.value;
const closeTextBytesMax = meshLimits.closeTextBytesMax.value;

const writer = new WireWriter();

/** With the length in front: what is written to a connection. */
export function encodeFrame(frame: Frame): Uint8Array {
  const field = frame.kind === 'message' ? frame.field : fieldNumbers[frame.kind];
  return frameOf(frame.channel, field, [bodyOf(frame)]);
}

/** An Operations frame from several messages: concatenated, they are one message. */
export function encodeOperationsFrame(channel: number, chunks: readonly Uint8Array[]): Uint8Array {
  return frameOf(channel, fieldNumbers.operations, chunks);
}

/** `bytes` is one Frame message, without its length. Views into it are kept in the result. */
export function decodeFrame(bytes: Uint8Array): Frame {
  const reader = new WireReader('frame', bytes);
  let tag = reader.uint32();
  let channel = 0;
  if (tag === channelTag) {
    channel = reader.uint32();
    tag = reader.uint32();
  }
  const field = tag >>> 3;
  if ((tag & 7) !== delimitedType) reader.fail(`field tag ${tag} is unknown in a frame`);
  const body = reader.delimited();
  if (!reader.isAtEnd) reader.fail('a frame has more than one body');
  return channel === 0 ? linkFrame(field, body) : channelFrame(channel, field, body);
}

export function malformed(why: string): SynclineError {
  return new SynclineError('invalid-argument', `malformed frame: ${why}`);
}

/** What a peer has done wrong, in words. Anything else that is thrown is a mistake of ours, and thrown on. */
export function peerFault(thrown: unknown): string {
  const isFault =
    thrown instanceof SynclineError &&
    (thrown.code === 'invalid-argument' || thrown.code === 'limit-exceeded');
  if (!isFault) throw thrown;
  return thrown.message;
}

/** The chunks may be large: they are copied once, to their place. */
function frameOf(channel: number, field: number, chunks: readonly Uint8Array[]): Uint8Array {
  const bodyBytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const bodyTag = (field << 3) | delimitedType;
  const channelBytes = channel === 0 ? 0 : 1 + varintBytes(channel);
  const headBytes = channelBytes + varintBytes(bodyTag) + varintBytes(bodyBytes);
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES + headBytes + bodyBytes);
  let at = bytes.writeUInt32BE(headBytes + bodyBytes);
  if (channel !== 0) at = writeVarint(bytes, writeVarint(bytes, at, channelTag), channel);
  at = writeVarint(bytes, writeVarint(bytes, at, bodyTag), bodyBytes);
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

function bodyOf(frame: Frame): Uint8Array {
  writer.clear();
  switch (frame.kind) {
    case 'hello':
      writer.uint(1, frame.versionMin);
      writer.uint(2, frame.versionMax);
      writer.text(3, frame.clusterId);
      writer.uint(4, frame.nodeId);
      writer.uint(5, frame.toNodeId);
      writer.bytes(6, frame.nonce);
      break;
    case 'auth':
      writer.bytes(1, frame.proof);
      writer.uint(2, frame.version);
      writer.uint(3, frame.epoch);
      writer.bytes(4, frame.bootId);
      writer.bool(5, frame.snappy);
      break;
    case 'close':
      writer.uint(1, closeCodes[frame.code]);
      writer.text(2, frame.text);
      break;
    case 'heartbeat':
      writer.uint(1, frame.sequence);
      writer.bool(2, frame.isReply);
      for (const { name, version } of frame.channels) {
        const start = writer.begin(3);
        writer.text(1, name);
        writer.bytes(2, version.toBytes());
        writer.end(start);
      }
      break;
    case 'operations':
      return frame.encoded;
    case 'ack':
      writer.bytes(1, dotBytes(frame.received));
      writer.bytes(2, dotBytes(frame.applied));
      break;
    case 'nack':
      writer.uint(1, nackReasons[frame.reason]);
      writer.bytes(2, dotBytes(frame.expected));
      break;
    case 'version-query':
      writer.uint(1, frame.id);
      break;
    case 'version-reply':
      writer.uint(1, frame.id);
      writer.bytes(2, frame.version.toBytes());
      break;
    case 'message':
      return frame.body;
    case 'snappy':
      return frame.compressed;
    default:
      return unreachable(frame);
  }
  return writer.copy();
}

function linkFrame(field: number, body: Uint8Array): LinkFrame & { readonly channel: 0 } {
  switch (field) {
    case fieldNumbers.hello:
      return readHello(body);
    case fieldNumbers.auth:
      return readAuth(body);
    case fieldNumbers.close:
      return readClose(body);
    case fieldNumbers.heartbeat:
      return readHeartbeat(body);
    case fieldNumbers.snappy:
      return { channel: 0, kind: 'snappy', compressed: body };
    default:
      throw malformed(`field ${field} is unknown on channel 0`);
  }
}

function channelFrame(
  channel: number,
  field: number,
  body: Uint8Array,
): ChannelFrame & { readonly channel: number } {
  switch (field) {
    case fieldNumbers.operations:
      return { channel, kind: 'operations', encoded: body };
    case fieldNumbers.ack:
      return readAck(channel, body);
    case fieldNumbers.nack:
      return readNack(channel, body);
    case fieldNumbers['version-query']:
      return { channel, kind: 'version-query', id: new WireFields('frame', body, 'n').number(1) };
    case fieldNumbers['version-reply']:
      return readReply(channel, body);
    default:
      if (field >= MESSAGE_FIELD_MIN && field <= MESSAGE_FIELD_MAX) {
        return { channel, kind: 'message', field, body };
      }
      throw malformed(`field ${field} is unknown on a channel`);
  }
}

function readHello(body: Uint8Array): HelloFrame & { readonly channel: 0 } {
  const fields = new WireFields('frame', body, 'nnbnnb');
  return {
    channel: 0,
    kind: 'hello',
    versionMin: fields.number(1),
    versionMax: fields.number(2),
    clusterId: fields.text(3, nameBytesMax),
    nodeId: fields.number(4),
    toNodeId: fields.number(5),
    nonce: fields.bytes(6),
  };
}

function readAuth(body: Uint8Array): AuthFrame & { readonly channel: 0 } {
  const fields = new WireFields('frame', body, 'bnnbn');
  return {
    channel: 0,
    kind: 'auth',
    proof: fields.bytes(1),
    version: fields.number(2),
    epoch: fields.number(3),
    bootId: fields.bytes(4),
    snappy: fields.number(5) !== 0,
  };
}

function readClose(body: Uint8Array): CloseFrame & { readonly channel: 0 } {
  const fields = new WireFields('frame', body, 'nb');
  const code = nameIn(closeCodes, fields.number(1), 'close code');
  return { channel: 0, kind: 'close', code, text: fields.text(2, closeTextBytesMax) };
}

function readHeartbeat(body: Uint8Array): HeartbeatFrame & { readonly channel: 0 } {
  const fields = new WireFields('frame', body, 'nnr', meshLimits.channelsMax.value);
  return {
    channel: 0,
    kind: 'heartbeat',
    sequence: fields.number(1),
    isReply: fields.number(2) !== 0,
    channels: fields.repeated.map(readChannelState),
  };
}

function readChannelState(body: Uint8Array): ChannelState {
  const fields = new WireFields('frame', body, 'bb');
  const version = VersionVector.fromBytes(fields.bytes(2));
  return { name: fields.text(1, nameBytesMax), version };
}

function readAck(channel: number, body: Uint8Array): ChannelFrame & { readonly channel: number } {
  const fields = new WireFields('frame', body, 'bb');
  const received = dotOf(fields.bytes(1));
  return { channel, kind: 'ack', received, applied: dotOf(fields.bytes(2)) };
}

function readNack(channel: number, body: Uint8Array): ChannelFrame & { readonly channel: number } {
  const fields = new WireFields('frame', body, 'nb');
  const reason = nameIn(nackReasons, fields.number(1), 'nack reason');
  return { channel, kind: 'nack', reason, expected: dotOf(fields.bytes(2)) };
}

function readReply(channel: number, body: Uint8Array): ChannelFrame & { readonly channel: number } {
  const fields = new WireFields('frame', body, 'nb');
  const version = VersionVector.fromBytes(fields.bytes(2));
  return { channel, kind: 'version-reply', id: fields.number(1), version };
}

function nameIn<Name extends string>(
  names: Readonly<Record<Name, number>>,
  value: number,
  what: string,
): Name {
  for (const name in names) if (names[name] === value) return name;
  throw malformed(`${what} ${value} is unknown`);
}

function dotBytes(dot: Dot | undefined): Uint8Array {
  if (dot === undefined) return new Uint8Array(0);
  const bytes = new Uint8Array(DOT_BYTES);
  writeDot(new DataView(bytes.buffer), 0, dot);
  return bytes;
}

function dotOf(bytes: Uint8Array): Dot | undefined {
  if (bytes.length === 0) return undefined;
  if (bytes.length !== DOT_BYTES) throw malformed(`a dot has ${bytes.length} bytes`);
  return readDot(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0);
}
