// Generated frames, and the same as Protobuf-ES takes them.
import { actorId, type Dot, dot, unreachable, VersionVector } from '@syncline/kernel';
import type { encodeMeshFrame } from '@syncline/protocol/operations';
import fc from 'fast-check';
import {
  type CloseCode,
  closeCodes,
  type Frame,
  type NackReason,
  nackReasons,
} from '../frame-codec.js';

type ProtobufFrame = Parameters<typeof encodeMeshFrame>[0];

const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const bytes = fc.uint8Array({ maxLength: 300 });
const name = fc.string({ unit: 'grapheme', maxLength: 40 });

export const arbitraryDot: fc.Arbitrary<Dot> = fc
  .tuple(
    fc.integer({ min: 1, max: 65_535 }),
    fc.integer({ min: 0, max: 65_535 }),
    fc.oneof(
      fc.integer({ min: 1, max: 300 }),
      fc.maxSafeInteger().map((n) => Math.abs(n) || 1),
    ),
  )
  .map(([node, epoch, counter]) => dot(actorId(node, epoch), counter));

export const arbitraryVersion: fc.Arbitrary<VersionVector> = fc
  .array(arbitraryDot, { maxLength: 6 })
  .map((dots) => VersionVector.of(...dots));

const maybeDot = fc.option(arbitraryDot, { nil: undefined });
const channel = fc.integer({ min: 1, max: 2 ** 32 - 1 });
const link = fc.constant(0 as const);
const closeCode = fc.constantFrom(...(Object.keys(closeCodes) as CloseCode[]));
const nackReason = fc.constantFrom(...(Object.keys(nackReasons) as NackReason[]));

function kind<const K extends string>(value: K): fc.Arbitrary<K> {
  return fc.constant(value);
}

export const arbitraryFrame: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    channel: link,
    kind: kind('hello'),
    versionMin: word,
    versionMax: word,
    clusterId: name,
    nodeId: word,
    toNodeId: word,
    nonce: bytes,
  }),
  fc.record({
    channel: link,
    kind: kind('auth'),
    proof: bytes,
    version: word,
    epoch: word,
    bootId: bytes,
    snappy: fc.boolean(),
  }),
  fc.record({ channel: link, kind: kind('close'), code: closeCode, text: name }),
  fc.record({
    channel: link,
    kind: kind('heartbeat'),
    sequence: word,
    isReply: fc.boolean(),
    channels: fc.array(fc.record({ name, version: arbitraryVersion }), { maxLength: 16 }),
  }),
  fc.record({ channel: link, kind: kind('snappy'), compressed: bytes }),
  fc.record({ channel, kind: kind('ack'), received: maybeDot, applied: maybeDot }),
  fc.record({ channel, kind: kind('nack'), reason: nackReason, expected: maybeDot }),
  fc.record({ channel, kind: kind('version-query'), id: word }),
  fc.record({ channel, kind: kind('version-reply'), id: word, version: arbitraryVersion }),
);

function dotBytes(value: Dot | undefined): Uint8Array {
  return value === undefined ? new Uint8Array(0) : VersionVector.of(value).toBytes();
}

/** Operations and messages are bytes to the codec; they are compared elsewhere. */
export function protobufFrame(frame: Frame): ProtobufFrame {
  return { channel: frame.channel, body: protobufBody(frame) };
}

function protobufBody(frame: Frame): NonNullable<ProtobufFrame['body']> {
  switch (frame.kind) {
    case 'hello': {
      const { versionMin, versionMax, clusterId, nodeId, toNodeId, nonce } = frame;
      const value = { versionMin, versionMax, clusterId, nodeId, toNodeId, nonce };
      return { case: 'hello', value };
    }
    case 'auth': {
      const { proof, version, epoch, bootId, snappy } = frame;
      return { case: 'auth', value: { proof, version, epoch, bootId, snappy } };
    }
    case 'close':
      return { case: 'close', value: { code: closeCodes[frame.code], text: frame.text } };
    case 'heartbeat': {
      const { sequence, isReply: reply } = frame;
      const channels = frame.channels.map(({ name: channelName, version }) => ({
        name: channelName,
        versionVector: version.toBytes(),
      }));
      return { case: 'heartbeat', value: { sequence, reply, channels } };
    }
    case 'snappy':
      return { case: 'snappy', value: frame.compressed };
    case 'ack':
      return {
        case: 'ack',
        value: { received: dotBytes(frame.received), applied: dotBytes(frame.applied) },
      };
    case 'nack': {
      const value = { reason: nackReasons[frame.reason], expected: dotBytes(frame.expected) };
      return { case: 'nack', value };
    }
    case 'version-query':
      return { case: 'versionQuery', value: { id: frame.id } };
    case 'version-reply': {
      const value = { id: frame.id, versionVector: frame.version.toBytes() };
      return { case: 'versionReply', value };
    }
    case 'operations':
    case 'message':
      throw new Error(`${frame.kind} is not generated`);
    default:
      return unreachable(frame);
  }
}
