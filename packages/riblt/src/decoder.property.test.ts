import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Decoder } from './decoder.js';
import type { RibltKey } from './item-hash.js';
import { Sketch } from './sketch.js';
import { SymbolBlock } from './symbol-block.js';
import { encoderOf, type SetPair, seededSet, sketchOf, splitSet } from './testing/example-sets.js';
import { itemsOf, plainDecode, plainSymbols, wordsOf } from './testing/plain-riblt.js';

const words = fc.nat({ max: 2 ** 32 - 1 });
const keys = fc.record({ k0: words, k1: words });
const key = { k0: 0x01234567, k1: 0x89abcdef };

const pairs = fc
  .tuple(
    fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }), { maxLength: 120 }),
    fc.tuple(fc.nat(), fc.nat()),
  )
  .map(([all, cuts]) => splitSet(all, cuts));

/** Lengths of blocks, repeated forever. */
const cuts = fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 8 });

/** Runs two encoders against a decoder, over the wire form of the remote blocks. */
function reconcile(anyKey: RibltKey, { remote, local }: SetPair, lengths: readonly number[]) {
  const remoteEncoder = encoderOf(anyKey, remote);
  const localEncoder = encoderOf(anyKey, local);
  const decoder = new Decoder(anyKey);
  for (let block = 0; ; block += 1) {
    const length = lengths[block % lengths.length] ?? 1;
    const received = SymbolBlock.fromBytes(remoteEncoder.next(length).toBytes());
    if (decoder.push(received, localEncoder.next(length)) === 'done') return decoder;
  }
}

function expectDifference(decoder: Decoder, { onlyRemote, onlyLocal }: SetPair): void {
  expect(new Set(itemsOf(decoder.onlyRemote()))).toEqual(new Set(onlyRemote));
  expect(new Set(itemsOf(decoder.onlyLocal()))).toEqual(new Set(onlyLocal));
  expect(decoder.onlyRemote()).toHaveLength(onlyRemote.length * 3);
  expect(decoder.onlyLocal()).toHaveLength(onlyLocal.length * 3);
}

test('R10 exactly the symmetric difference is found, however the streams are cut', () => {
  fc.assert(
    fc.property(keys, pairs, cuts, (anyKey, pair, lengths) => {
      expectDifference(reconcile(anyKey, pair, lengths), pair);
    }),
    { numRuns: 300 },
  );
});

test('R10 an item is found whose words and hash are all zero', () => {
  const [zero, one, two] = [0n, 1n, 2n];
  for (const all of [[zero], [zero, one], [one, two, zero]])
    for (const cut of [0, all.length]) {
      const pair = splitSet(all, [cut, cut]);
      expectDifference(reconcile({ k0: 0, k1: 0 }, pair, [1]), pair);
    }
});

test('R10 the two sides see the same difference from the same number of symbols', () => {
  fc.assert(
    fc.property(pairs, cuts, (pair, lengths) => {
      const { remote, local, onlyRemote, onlyLocal } = pair;
      const swapped = {
        remote: local,
        local: remote,
        onlyRemote: onlyLocal,
        onlyLocal: onlyRemote,
      };
      const [here, there] = [reconcile(key, pair, lengths), reconcile(key, swapped, lengths)];
      expectDifference(there, swapped);
      expect(there.symbolsCount).toBe(here.symbolsCount);
    }),
  );
});

test('R10 it is done at the same symbol as the plain algorithm', () => {
  fc.assert(
    fc.property(pairs, (pair) => {
      const decoder = reconcile(key, pair, [1]);
      const plainAt = (count: number) =>
        plainDecode(
          key,
          plainSymbols(key, pair.remote, count),
          plainSymbols(key, pair.local, count),
        );
      const plain = plainAt(decoder.symbolsCount);
      expect(plain?.onlyRemote).toEqual(new Set(itemsOf(decoder.onlyRemote())));
      expect(plain?.onlyLocal).toEqual(new Set(itemsOf(decoder.onlyLocal())));
      if (decoder.symbolsCount > 1) expect(plainAt(decoder.symbolsCount - 1)).toBeUndefined();
    }),
    { numRuns: 50 },
  );
});

test('R10 equal sets need one symbol, also empty ones', () => {
  for (const set of [[], seededSet(1, 1), seededSet(1, 1_000)]) {
    const decoder = reconcile(key, { remote: set, local: set, onlyRemote: [], onlyLocal: [] }, [1]);
    expect(decoder.symbolsCount).toBe(1);
    expect(decoder.onlyRemote()).toHaveLength(0);
    expect(decoder.onlyLocal()).toHaveLength(0);
  }
});

test('R10 a large difference, from one block and from many', () => {
  const both = seededSet(0, 1_000);
  const onlyRemote = seededSet(1, 6_000);
  const onlyLocal = seededSet(2, 4_000);
  const pair = {
    remote: [...both, ...onlyRemote],
    local: [...both, ...onlyLocal],
    onlyRemote,
    onlyLocal,
  };
  for (const lengths of [[20_000], [1], [32, 4_000]])
    expectDifference(reconcile(key, pair, lengths), pair);
});

test('R6 R10 sketches of a fixed size decode, then larger ones continue where they ended', () => {
  const both = seededSet(0, 500);
  const onlyRemote = seededSet(1, 300);
  const onlyLocal = seededSet(2, 100);
  const [remote, local] = [
    [...both, ...onlyRemote],
    [...both, ...onlyLocal],
  ];
  const decoder = new Decoder(key);
  for (const [from, size] of [
    [0, 256],
    [256, 4_096],
  ] as const) {
    const [remoteSketch, localSketch] = [sketchOf(key, size, remote), sketchOf(key, size, local)];
    const state = decoder.push(remoteSketch.block(from), localSketch.block(from));
    expect(state).toBe(from === 0 ? 'more' : 'done');
  }
  expectDifference(decoder, { remote, local, onlyRemote, onlyLocal });
});

test('R5 R10 the difference of two sketches decodes against an empty one', () => {
  const [onlyRemote, onlyLocal] = [seededSet(1, 20), seededSet(2, 30)];
  const difference = sketchOf(key, 200, onlyRemote).subtract(sketchOf(key, 200, onlyLocal));
  const decoder = new Decoder(key);
  expect(decoder.push(difference.block(), new Sketch(200, key).block())).toBe('done');
  expectDifference(decoder, { remote: onlyRemote, local: onlyLocal, onlyRemote, onlyLocal });
});

test('R10 nothing is returned before the difference is known, and later blocks change nothing', () => {
  const [remote, local] = [encoderOf(key, seededSet(1, 50)), encoderOf(key, [])];
  const decoder = new Decoder(key);
  expect(decoder.push(remote.next(10), local.next(10))).toBe('more');
  expect(() => decoder.onlyRemote()).toThrow(RangeError);
  expect(() => decoder.onlyLocal()).toThrow(RangeError);
  expect(decoder.push(remote.next(190), local.next(190))).toBe('done');
  const found = decoder.onlyRemote();
  expect(decoder.push(remote.next(10), local.next(10))).toBe('done');
  expect(decoder.onlyRemote()).toEqual(found);
  expect(decoder.symbolsCount).toBe(200);
});

test('R10 under different keys nothing is found, not even that sets are equal', () => {
  const set = seededSet(1, 10);
  const decoder = new Decoder(key);
  expect(
    decoder.push(sketchOf({ k0: 1, k1: 2 }, 500, set).block(), sketchOf(key, 500, set).block()),
  ).toBe('more');
});

test('blocks of different indexes, or of a local set that changed, are the fault of the caller', () => {
  const sketch = new Sketch(20, key);
  const decoder = new Decoder(key);
  expect(() => decoder.push(sketch.block(0, 2), sketch.block(0, 1))).toThrow(RangeError);
  expect(() => decoder.push(sketch.block(0, 1), sketch.block(1, 2))).toThrow(RangeError);
  const remote = sketchOf(key, 20, seededSet(1, 9));
  expect(decoder.push(remote.block(0, 4), sketch.block(0, 4))).toBe('more');
  const changed = sketch.copy();
  changed.add(...wordsOf(7n));
  expect(() => decoder.push(remote.block(4), changed.block(4))).toThrow(RangeError);
  expect(decoder.push(remote.block(4), sketch.block(4))).toBe('done');
});
