// The frames of syncline.mesh.v1, coded by hand: the runtime of Protobuf is slow to load, and a node needs no more
// of it than this. A property test compares the bytes with those of Protobuf-ES.
//
// On the wire a frame is its length as u32, big endian, and the Frame message. Dots and version vectors are
// bytes, see proto/syncline/mesh/v1/mesh.proto.
//
// M1  Decoding undoes encoding. Whatever else is received is refused with `invalid-argument`.
import {
  DOT_BYTES,
  type Dot,
  readDot,
  unreachable,
  VersionVector,
  writeDot,
} from '@syncline/kernel';
import { meshLimits } from './limits.js';
import { malformed, varintTag, WireFields, WireReader, WireWriter } from './wire.js';

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

const channelTag = varintTag(1);
const nameBytesMax = meshLimits.nameBytesMax.value;
const closeTextBytesMax = meshLimits.closeTextBytesMax.value;

/** With the length in front: what is written to a connection. */
export function encodeFrame(frame: Frame): Uint8Array {
  const field = frame.kind === 'message' ? frame.field : fieldNumbers[frame.kind];
  return finishFrame(new WireWriter().number(1, frame.channel).message(field, bodyOf(frame)));
}

/** An Operations frame of several messages, which written one behind the other are one message. */
export function encodeOperationsFrame(channel: number, chunks: readonly Uint8Array[]): Uint8Array {
  const writer = new WireWriter().number(1, channel);
  writer.delimited(
    fieldNumbers.operations,
    chunks.reduce((sum, chunk) => sum + chunk.length, 0),
  );
  for (const chunk of chunks) writer.raw(chunk);
  return finishFrame(writer);
}

/** `bytes` is one Frame message, without its length. Views into it are kept in the result. */
export function decodeFrame(bytes: Uint8Array): Frame {
  const reader = new WireReader(bytes);
  let tag = reader.varint();
  let channel = 0;
  if (tag === channelTag) {
    channel = reader.varint();
    tag = reader.varint();
  }
  const field = tag >>> 3;
  if ((tag & 7) !== 2) reader.fail(`field tag ${tag} is unknown in a frame`);
  const body = reader.delimited();
  if (!reader.isAtEnd) reader.fail('a frame has more than one body');
  return channel === 0 ? linkFrame(field, body) : channelFrame(channel, field, body);
}

function finishFrame(writer: WireWriter): Uint8Array {
  const bytes = writer.finish(LENGTH_BYTES);
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(0, bytes.length - LENGTH_BYTES);
  return bytes;
}

function bodyOf(frame: Frame): WireWriter {
  const writer = new WireWriter();
  switch (frame.kind) {
    case 'hello':
      return writer
        .number(1, frame.versionMin)
        .number(2, frame.versionMax)
        .text(3, frame.clusterId)
        .number(4, frame.nodeId)
        .number(5, frame.toNodeId)
        .bytes(6, frame.nonce);
    case 'auth':
      return writer
        .bytes(1, frame.proof)
        .number(2, frame.version)
        .number(3, frame.epoch)
        .bytes(4, frame.bootId)
        .flag(5, frame.snappy);
    case 'close':
      return writer.number(1, closeCodes[frame.code]).text(2, frame.text);
    case 'heartbeat':
      writer.number(1, frame.sequence).flag(2, frame.isReply);
      for (const { name, version } of frame.channels) {
        writer.message(3, new WireWriter().text(1, name).bytes(2, version.toBytes()));
      }
      return writer;
    case 'operations':
      return writer.raw(frame.encoded);
    case 'ack':
      return writer.bytes(1, dotBytes(frame.received)).bytes(2, dotBytes(frame.applied));
    case 'nack':
      return writer.number(1, nackReasons[frame.reason]).bytes(2, dotBytes(frame.expected));
    case 'version-query':
      return writer.number(1, frame.id);
    case 'version-reply':
      return writer.number(1, frame.id).bytes(2, frame.version.toBytes());
    case 'message':
      return writer.raw(frame.body);
    case 'snappy':
      return writer.raw(frame.compressed);
    default:
      return unreachable(frame);
  }
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
      return { channel, kind: 'version-query', id: new WireFields(body, 'n').number(1) };
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
  const fields = new WireFields(body, 'nnbnnb');
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
  const fields = new WireFields(body, 'bnnbn');
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
  const fields = new WireFields(body, 'nb');
  const code = nameIn(closeCodes, fields.number(1), 'close code');
  return { channel: 0, kind: 'close', code, text: fields.text(2, closeTextBytesMax) };
}

function readHeartbeat(body: Uint8Array): HeartbeatFrame & { readonly channel: 0 } {
  const fields = new WireFields(body, 'nnr', meshLimits.channelsMax.value);
  return {
    channel: 0,
    kind: 'heartbeat',
    sequence: fields.number(1),
    isReply: fields.number(2) !== 0,
    channels: fields.repeated.map(readChannelState),
  };
}

function readChannelState(body: Uint8Array): ChannelState {
  const fields = new WireFields(body, 'bb');
  const version = VersionVector.fromBytes(fields.bytes(2));
  return { name: fields.text(1, nameBytesMax), version };
}

function readAck(channel: number, body: Uint8Array): ChannelFrame & { readonly channel: number } {
  const fields = new WireFields(body, 'bb');
  const received = dotOf(fields.bytes(1));
  return { channel, kind: 'ack', received, applied: dotOf(fields.bytes(2)) };
}

function readNack(channel: number, body: Uint8Array): ChannelFrame & { readonly channel: number } {
  const fields = new WireFields(body, 'nb');
  const reason = nameIn(nackReasons, fields.number(1), 'nack reason');
  return { channel, kind: 'nack', reason, expected: dotOf(fields.bytes(2)) };
}

function readReply(channel: number, body: Uint8Array): ChannelFrame & { readonly channel: number } {
  const fields = new WireFields(body, 'nb');
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
