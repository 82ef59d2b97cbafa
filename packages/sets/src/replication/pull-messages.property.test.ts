// The codec of pulls agrees with Protobuf-ES, and refuses what it does not know.
import { actorId, type Dot, dot, VersionVector } from '@syncline/kernel';
import { encodeMeshFrame, parseMeshFrame } from '@syncline/protocol/operations';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Payload, PayloadWriter } from './payload.js';
import { decodePull, encodePull, MessageKind, type PullMessage } from './pull-messages.js';

const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const counter = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.constant(2 ** 53 - 1));
const dots: fc.Arbitrary<Dot> = fc
  .tuple(fc.integer({ min: 1, max: 65_535 }), fc.integer({ min: 0, max: 65_535 }), counter)
  .map(([node, epoch, count]) => dot(actorId(node, epoch), count));
const version = fc.array(dots, { maxLength: 5 }).map((list) => VersionVector.of(...list));
const bytes = fc.uint8Array({ maxLength: 40 });
const counts = fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 20 });

const messages: fc.Arbitrary<PullMessage> = fc.oneof(
  fc.record({
    kind: fc.constant('open' as const),
    session: u32,
    version,
    liveDots: u32,
    xor: fc.tuple(u32, u32),
    listing: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('offer' as const),
    session: u32,
    verdict: fc.constantFrom(
      'nothing' as const,
      'pull' as const,
      'busy' as const,
      'diverged' as const,
    ),
    version,
    unseen: u32,
    common: u32,
    xor: fc.tuple(u32, u32),
  }),
  fc.record({
    kind: fc.constant('more' as const),
    session: u32,
    payloadFrames: u32,
    symbolBlocks: u32,
  }),
  fc.record({ kind: fc.constant('done' as const), session: u32, isApplied: fc.boolean(), version }),
  fc
    .record({ session: u32, from: u32, sums: bytes, checks: bytes, counts, last: fc.boolean() })
    .map((fields) => ({
      ...fields,
      kind: 'symbols' as const,
      counts: Int32Array.from([1, ...fields.counts]),
      listing: undefined,
    })),
  fc.record({ session: u32, listing: bytes, last: fc.boolean() }).map((fields) => ({
    ...fields,
    kind: 'symbols' as const,
    from: 0,
    sums: new Uint8Array(0),
    checks: new Uint8Array(0),
    counts: new Int32Array(0),
  })),
);

/** The message in a Frame, as Protobuf-ES reads and writes it again. */
function byProtobuf(kind: number, body: Uint8Array): Uint8Array {
  const frame: number[] = [];
  const varint = (value: number) => {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) frame.push((rest % 0x80) | 0x80);
    frame.push(rest);
  };
  varint(kind * 8 + 2);
  varint(body.length);
  frame.push(...body);
  return encodeMeshFrame(parseMeshFrame(Uint8Array.from(frame))).subarray(
    frame.length - body.length,
  );
}

test('S37 messages are encoded as Protobuf-ES encodes them, and read back', () => {
  fc.assert(
    fc.property(messages, (message) => {
      const kind = MessageKind[message.kind];
      const body = encodePull(message);
      expect(Buffer.from(byProtobuf(kind, body)).equals(body)).toBe(true);
      const read = decodePull(kind, body);
      expect(encodePull(read)).toEqual(body);
      expect(read).toMatchObject({ kind: message.kind, session: message.session });
    }),
  );
});

const elements = fc.array(
  fc.record({ set: fc.integer({ min: 0, max: 2 }), member: bytes, dot: dots }),
  { maxLength: 50 },
);
const setNames = ['', 'a', 'set'].map((name) => Buffer.from(name));

test('S37 payloads are encoded as Protobuf-ES encodes them, and read back', () => {
  fc.assert(
    fc.property(
      elements,
      fc.integer({ min: 1, max: 2 ** 32 - 1 }),
      fc.boolean(),
      (list, session, last) => {
        const writer = new PayloadWriter();
        for (const { set, member, dot: each } of list)
          writer.add(setNames[set] ?? Buffer.alloc(0), member, each);
        const encoded = writer.take(session, last);
        expect(writer.bytes).toBe(0);
        expect(Buffer.from(byProtobuf(MessageKind.payload, encoded)).equals(encoded)).toBe(true);
        const payload = new Payload(encoded, 'invalid-argument');
        expect([payload.session, payload.isLast, payload.length]).toEqual([
          session,
          last,
          list.length,
        ]);
        expect(decodePull(MessageKind.payload, encoded)).toMatchObject({ session });
        for (const [index, { set, member, dot: each }] of list.entries()) {
          expect(payload.sets.text(payload.setOf(index))).toBe(setNames[set]?.toString('latin1'));
          expect(Buffer.from(payload.members.bytes(index)).equals(member)).toBe(true);
          expect(payload.actorOf(index)).toBe(each.actor);
          expect(payload.counterOf(index)).toBe(each.counter);
        }
      },
    ),
  );
});

test('S37 any other bytes are refused, or read as what they say', () => {
  const kinds = fc.integer({ min: 10, max: 17 });
  fc.assert(
    fc.property(kinds, fc.uint8Array({ maxLength: 60 }), (kind, body) => {
      try {
        const message = decodePull(kind, body);
        if (message.kind === 'payload') void new Payload(body, 'invalid-argument');
        // Not as a Buffer, from which the bytes in the message would be Buffers, too.
        else expect(decodePull(kind, Uint8Array.from(encodePull(message)))).toEqual(message);
      } catch (thrown) {
        expect(thrown).toMatchObject({
          code: expect.stringMatching(/^(invalid-argument|limit-exceeded)$/),
        });
      }
    }),
    { numRuns: 2_000, examples: [[MessageKind.symbols, Uint8Array.of(50, 1, 0)]] },
  );
});
