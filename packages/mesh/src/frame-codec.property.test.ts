import {
  actorId,
  type Dot,
  dot,
  type Random,
  randomBelow,
  SynclineError,
  unreachable,
  VersionVector,
} from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import {
  encodeMeshFrame,
  encodeMeshOperations,
  parseMeshFrame,
} from '@syncline/protocol/operations';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type CloseCode,
  closeCodes,
  decodeFrame,
  encodeFrame,
  encodeOperationsFrame,
  type Frame,
  LENGTH_BYTES,
  type NackReason,
  nackReasons,
} from './frame-codec.js';
import { FrameSplitter } from './frame-splitter.js';
import { readOperationHeads } from './operation-head.js';
import { encodeOperation } from './testing/encode-operation.js';

const arbitraryBytes = fc.uint8Array({ maxLength: 300 });

type ProtobufFrame = Parameters<typeof encodeMeshFrame>[0];

const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const name = fc.string({ unit: 'grapheme', maxLength: 40 });

const arbitraryDot: fc.Arbitrary<Dot> = fc
  .tuple(
    fc.integer({ min: 1, max: 65_535 }),
    fc.integer({ min: 0, max: 65_535 }),
    fc.oneof(
      fc.integer({ min: 1, max: 300 }),
      fc.maxSafeInteger().map((n) => Math.abs(n) || 1),
    ),
  )
  .map(([node, epoch, counter]) => dot(actorId(node, epoch), counter));

const arbitraryVersion: fc.Arbitrary<VersionVector> = fc
  .array(arbitraryDot, { maxLength: 6 })
  .map((dots) => VersionVector.of(...dots));

const maybeDot = fc.option(arbitraryDot, { nil: undefined });
const someChannel = fc.integer({ min: 1, max: 2 ** 32 - 1 });
const link = fc.constant(0 as const);
const closeCode = fc.constantFrom(...(Object.keys(closeCodes) as CloseCode[]));
const nackReason = fc.constantFrom(...(Object.keys(nackReasons) as NackReason[]));

function kind<const K extends string>(value: K): fc.Arbitrary<K> {
  return fc.constant(value);
}

const arbitraryFrame: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    channel: link,
    kind: kind('hello'),
    versionMin: word,
    versionMax: word,
    clusterId: name,
    nodeId: word,
    toNodeId: word,
    nonce: arbitraryBytes,
  }),
  fc.record({
    channel: link,
    kind: kind('auth'),
    proof: arbitraryBytes,
    version: word,
    epoch: word,
    bootId: arbitraryBytes,
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
  fc.record({ channel: link, kind: kind('snappy'), compressed: arbitraryBytes }),
  fc.record({ channel: someChannel, kind: kind('ack'), received: maybeDot, applied: maybeDot }),
  fc.record({ channel: someChannel, kind: kind('nack'), reason: nackReason, expected: maybeDot }),
  fc.record({ channel: someChannel, kind: kind('version-query'), id: word }),
  fc.record({
    channel: someChannel,
    kind: kind('version-reply'),
    id: word,
    version: arbitraryVersion,
  }),
);

function dotBytes(value: Dot | undefined): Uint8Array {
  return value === undefined ? new Uint8Array(0) : VersionVector.of(value).toBytes();
}

/** Operations and messages are bytes to the codec; they are compared elsewhere. */
function protobufFrame(frame: Frame): ProtobufFrame {
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

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** Version vectors compare by their entries, and any kind of bytes by its content. */
function plain(value: unknown): unknown {
  if (value instanceof VersionVector) return value.toString();
  if (value instanceof Uint8Array) return hex(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

function bodyOf(encoded: Uint8Array): Uint8Array {
  const length = new DataView(encoded.buffer, encoded.byteOffset).getUint32(0);
  expect(length).toBe(encoded.length - LENGTH_BYTES);
  return encoded.subarray(LENGTH_BYTES);
}

test('M1 encoded frames have the bytes that Protobuf-ES writes, and are read back', () => {
  fc.assert(
    fc.property(arbitraryFrame, (frame) => {
      const encoded = bodyOf(encodeFrame(frame));
      expect(hex(encoded)).toBe(hex(encodeMeshFrame(protobufFrame(frame))));
      expect(plain(decodeFrame(encoded))).toEqual(plain(frame));
    }),
    { numRuns: 1_000 },
  );
});

test('M1 messages of slices travel as the bytes of their field', () => {
  fc.assert(
    fc.property(someChannel, arbitraryBytes, (channel, sums) => {
      const body = { case: 'symbols', value: { session: 7, from: 32, sums, last: true } } as const;
      const encoded = encodeMeshFrame({ channel, body });
      const frame = decodeFrame(encoded);
      expect(frame).toMatchObject({ channel, kind: 'message', field: 14 });
      expect(hex(bodyOf(encodeFrame(frame)))).toBe(hex(encoded));
    }),
  );
  expect(() =>
    decodeFrame(encodeMeshFrame({ channel: 1, body: { case: 'close', value: {} } })),
  ).toThrow('unknown');
});

test('M1 concatenated Operations messages are one message to Protobuf-ES', () => {
  const arbitraryOperation = fc.record({
    dot: arbitraryDot.map(({ actor, counter }) => dot(actor, Math.min(counter, 2 ** 53 - 100_000))),
    count: fc.integer({ min: 1, max: 70_000 }),
    dependencies: arbitraryVersion,
    body: arbitraryBytes,
  });
  fc.assert(
    fc.property(fc.array(arbitraryOperation, { maxLength: 5 }), (operations) => {
      const independent = operations.map((operation) => ({
        ...operation,
        dependencies: VersionVector.of(
          ...operation.dependencies.entries().filter(({ actor }) => actor !== operation.dot.actor),
        ),
      }));
      const frame = bodyOf(encodeOperationsFrame(3, independent.map(encodeOperation)));
      const parsed = parseMeshFrame(frame);
      expect(parsed).toMatchObject({ channel: 3, body: { case: 'operations' } });
      const message = encodeMeshOperations({
        operations: independent.map((operation) => ({
          dot: VersionVector.of(operation.dot).toBytes(),
          count: operation.count,
          dependencies: operation.dependencies.toBytes(),
          body: operation.body,
        })),
      });
      const decoded = decodeFrame(frame);
      expect(decoded.kind === 'operations' && hex(decoded.encoded)).toBe(hex(message));
      const heads = [...readOperationHeads(message)].map(({ actor, base, last, dependencies }) => [
        dot(actor, base),
        last - base + 1,
        VersionVector.of(...dependencies).toString(),
      ]);
      expect(heads).toEqual(
        independent.map(({ dot: first, count, dependencies }) => [
          first,
          count,
          dependencies.toString(),
        ]),
      );
    }),
    { numRuns: 200 },
  );
});

/** The same bytes with a few changes. */
function damaged(random: Random, bytes: Uint8Array): Uint8Array {
  const result = [...bytes];
  for (let left = 1 + randomBelow(random, 3); left > 0; left -= 1) {
    const at = randomBelow(random, result.length + 1);
    const change = randomBelow(random, 4);
    if (change === 0) result[at] = (result[at] ?? 0) ^ (1 << randomBelow(random, 8));
    else if (change === 1) result.splice(at, randomBelow(random, 4));
    else if (change === 2) result.splice(at, 0, ...random.bytes(randomBelow(random, 4)));
    else result.splice(at, result.length);
  }
  return Uint8Array.from(result);
}

function attempt<T>(act: () => T): T | Error {
  try {
    return act();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

test('M1 damaged frames are refused with a SynclineError, or decode as in Protobuf-ES', () => {
  const judgements = { read: 0, refused: 0 };
  fc.assert(
    fc.property(arbitraryFrame, fc.nat(), (frame, seed) => {
      const bytes = damaged(createSeededRandom(seed), bodyOf(encodeFrame(frame)));
      const ours = attempt(() => decodeFrame(bytes));
      judgements[ours instanceof Error ? 'refused' : 'read'] += 1;
      if (ours instanceof Error) expect(ours).toBeInstanceOf(SynclineError);
      else if (ours.kind !== 'message' && ours.kind !== 'operations') {
        expect(hex(bodyOf(encodeFrame(ours)))).toBe(hex(encodeMeshFrame(parseMeshFrame(bytes))));
      }
    }),
    { numRuns: 3_000 },
  );
  expect(judgements.read).toBeGreaterThan(100);
  expect(judgements.refused).toBeGreaterThan(100);
});

test('M1 garbage is refused with a SynclineError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      for (const read of [decodeFrame, (each: Uint8Array) => [...readOperationHeads(each)]]) {
        const result = attempt<unknown>(() => read(bytes));
        if (result instanceof Error) expect(result).toBeInstanceOf(SynclineError);
      }
    }),
    { numRuns: 5_000 },
  );
});

test('M2 frames are the same whole, byte by byte and cut at random', () => {
  fc.assert(
    fc.property(fc.array(arbitraryFrame, { maxLength: 5 }), fc.nat(), (frames, seed) => {
      const random = createSeededRandom(seed);
      const stream = Buffer.concat(frames.map(encodeFrame));
      for (const cut of [() => stream.length, () => 1, () => 1 + randomBelow(random, 90)]) {
        const splitter = new FrameSplitter(100_000);
        const found: Frame[] = [];
        for (let at = 0; at < stream.length; ) {
          const end = Math.min(stream.length, at + cut());
          splitter.push(Uint8Array.from(stream.subarray(at, end)));
          for (let next = splitter.next(); next !== undefined; next = splitter.next()) {
            found.push(decodeFrame(next));
          }
          at = end;
        }
        expect(splitter.heldBytes).toBe(0);
        expect(plain(found)).toEqual(plain(frames));
      }
    }),
    { numRuns: 100 },
  );
});

test('M2 a frame of 0 bytes or above the limit is refused as soon as its length has arrived', () => {
  for (const [length, why] of [
    [0, 'length is 0'],
    [101, '101 bytes; at most 100 are allowed'],
    [2 ** 32 - 1, 'at most 100'],
  ] as const) {
    const splitter = new FrameSplitter(100);
    const head = Buffer.alloc(4);
    head.writeUInt32BE(length);
    splitter.push(head.subarray(0, 3));
    expect(splitter.next()).toBeUndefined();
    splitter.push(head.subarray(3));
    expect(() => splitter.next()).toThrow(why);
  }
  const splitter = new FrameSplitter(100);
  splitter.push(Buffer.concat([Buffer.from([0, 0, 0, 100]), Buffer.alloc(100)]));
  expect(splitter.next()?.length).toBe(100);
});

test('counters above 2^32 keep all their bits', () => {
  const high = dot(actorId(1, 0), 2 ** 52 + 2 ** 33 + 5);
  const frame: Frame = { channel: 1, kind: 'ack', received: high, applied: high };
  expect(decodeFrame(bodyOf(encodeFrame(frame)))).toEqual(frame);
  const [head] = readOperationHeads(encodeOperation({ dot: high, count: 2 }));
  expect(head).toMatchObject({ base: high.counter, last: high.counter + 1 });
});
