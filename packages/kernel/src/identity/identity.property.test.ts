import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ActorId,
  actorId,
  compareDots,
  type Dot,
  dot,
  epochOf,
  nodeOf,
  readDot,
  SynclineError,
  VersionVector,
  writeDot,
} from '../index.js';

const actors: fc.Arbitrary<ActorId> = fc
  .tuple(fc.integer({ min: 1, max: 65535 }), fc.integer({ min: 0, max: 65535 }))
  .map(([node, epoch]) => actorId(node, epoch));
/** Few actors, so that vectors overlap. */
const fewActors = fc.constantFrom(
  actorId(1, 0),
  actorId(1, 1),
  actorId(2, 0),
  actorId(65535, 65535),
);
const counters = fc.oneof(
  fc.integer({ min: 1, max: 5 }),
  fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
);
const dots: fc.Arbitrary<Dot> = fc.tuple(fewActors, counters).map(([a, c]) => dot(a, c));
const vectors = fc.array(dots, { maxLength: 8 }).map((list) => VersionVector.of(...list));
const bytesOf = (d: Dot) => {
  const bytes = new Uint8Array(12);
  writeDot(new DataView(bytes.buffer), 0, d);
  return bytes;
};

describe('K4 wire form', () => {
  test('decoding undoes encoding, for actors, dots and vectors', () => {
    fc.assert(
      fc.property(
        actors,
        counters,
        fc.array(fc.tuple(actors, counters)),
        (actor, counter, list) => {
          expect(actorId(nodeOf(actor), epochOf(actor))).toBe(actor);
          expect(readDot(new DataView(bytesOf(dot(actor, counter)).buffer), 0)).toEqual({
            actor,
            counter,
          });
          const vector = VersionVector.of(...list.map(([a, c]) => dot(a, c)));
          expect(VersionVector.fromBytes(vector.toBytes()).toString()).toBe(vector.toString());
        },
      ),
    );
  });

  test('bytes of dots sort like the dots', () => {
    fc.assert(
      fc.property(actors, counters, actors, counters, (a, c, b, d) => {
        const order = Buffer.compare(bytesOf(dot(a, c)), bytesOf(dot(b, d)));
        expect(Math.sign(compareDots(dot(a, c), dot(b, d)))).toBe(order);
      }),
    );
  });

  test('counters above 2^32 keep every bit', () => {
    expect([...bytesOf(dot(actorId(2, 3), 2 ** 53 - 1))]).toEqual([
      0, 2, 0, 3, 0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    ]);
  });

  test('any bytes either decode to a vector with the same bytes or are refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 48 }), (bytes) => {
        try {
          expect(VersionVector.fromBytes(bytes).toBytes()).toEqual(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(SynclineError);
        }
      }),
    );
  });

  const entry = (node: number, epoch: number, counter: number) => [
    ...[0, node, 0, epoch],
    ...[0, 0, 0, 0, 0, 0, 0, counter],
  ];
  test.each([
    ['a repeated actor', [...entry(1, 0, 1), ...entry(1, 0, 2)]],
    ['actors out of order', [...entry(2, 0, 1), ...entry(1, 0, 1)]],
    ['node 0', entry(0, 0, 1)],
    ['counter 0', entry(1, 0, 0)],
    ['a cut entry', entry(1, 0, 1).slice(1)],
  ])('refuses %s', (_, bytes) => {
    expect(() => VersionVector.fromBytes(Uint8Array.from(bytes))).toThrow(SynclineError);
  });

  test('refuses a counter of 2^53 and a vector with one entry too many', () => {
    const tooHigh = Uint8Array.of(0, 1, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0);
    expect(() => VersionVector.fromBytes(tooHigh)).toThrow('2^53');
    const many = (count: number) =>
      VersionVector.of(...Array.from({ length: count }, (_, i) => dot(actorId(1, i), 1))).toBytes();
    expect(VersionVector.fromBytes(many(4096)).size).toBe(4096);
    expect(() => VersionVector.fromBytes(many(4097))).toThrow('at most 4096');
  });
});

describe('K3 merge', () => {
  const merged = (a: VersionVector, b: VersionVector) => a.copy().merge(b);

  test('is commutative, associative and idempotent', () => {
    fc.assert(
      fc.property(vectors, vectors, vectors, (a, b, c) => {
        expect(merged(a, b).toString()).toBe(merged(b, a).toString());
        expect(merged(merged(a, b), c).toString()).toBe(merged(a, merged(b, c)).toString());
        expect(merged(a, a).toString()).toBe(a.toString());
      }),
    );
  });

  test('returns the least vector that dominates both', () => {
    fc.assert(
      fc.property(vectors, vectors, dots, (a, b, d) => {
        const both = merged(a, b);
        expect(both.dominates(a) && both.dominates(b)).toBe(true);
        expect(both.covers(d)).toBe(a.covers(d) || b.covers(d));
      }),
    );
  });

  test('dominates is a partial order and agrees with equals', () => {
    fc.assert(
      fc.property(vectors, vectors, (a, b) => {
        expect(a.dominates(b) && b.dominates(a)).toBe(a.equals(b));
        expect(a.equals(b)).toBe(a.toString() === b.toString());
      }),
    );
  });

  test('a copy does not change with its original', () => {
    const original = VersionVector.of(dot(actorId(1, 0), 1));
    const copy = original.copy();
    original.advance(actorId(1, 0), 2);
    expect([copy.toString(), original.toString()]).toEqual(['1.0:1', '1.0:2']);
    expect(() => original.advance(actorId(1, 0), 2)).toThrow('only moves forward');
  });
});
