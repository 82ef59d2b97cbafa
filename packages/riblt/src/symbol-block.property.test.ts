import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Encoder } from './encoder.js';
import { SYMBOL_INDEX_END } from './mapping.js';
import { RibltError } from './riblt-error.js';
import { BLOCK_ITEMS_MAX, SymbolBlock } from './symbol-block.js';
import { encoderOf, isSameBlock, seededSet, sketchOf } from './testing/example-sets.js';

const key = { k0: 0x01234567, k1: 0x89abcdef };
const corrupt = expect.objectContaining({ name: 'RibltError', code: 'corrupt' });

/** Blocks of real sets, from any place of the stream. */
const blocks = fc
  .tuple(
    fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }), { maxLength: 50 }),
    fc.nat({ max: 300 }),
    fc.integer({ min: 1, max: 40 }),
  )
  .map(([set, from, length]) => sketchOf(key, from + length, set).block(from));

test('R7 the published block', () => {
  const text = readFileSync(new URL('../testdata/block.txt', import.meta.url), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const bytes = Buffer.from(lines.pop()?.split('block ')[1] ?? '', 'hex');
  const encoder = new Encoder(key);
  for (const line of lines) {
    const [w0 = 0, w1 = 0, w2 = 0] = line.split(' ').map((word) => Number.parseInt(word, 16));
    encoder.add(w0, w1, w2);
  }
  const block = encoder.next(8);
  expect(Buffer.from(block.toBytes()).toString('hex')).toBe(bytes.toString('hex'));
  expect(SymbolBlock.fromBytes(bytes)).toEqual(block);
});

test('R7 reading undoes writing, as columns and as bytes', () => {
  fc.assert(
    fc.property(blocks, (block) => {
      expect(SymbolBlock.fromColumns(block.toColumns())).toEqual(block);
      const bytes = block.toBytes();
      expect(SymbolBlock.fromBytes(bytes)).toEqual(block);
      const inside = Buffer.concat([Buffer.of(1, 2, 3), bytes, Buffer.of(4)]).subarray(3, -1);
      expect(SymbolBlock.fromBytes(inside)).toEqual(block);
    }),
  );
});

test('R7 sums and checks are big endian, and a count is what it exceeds the expected one by', () => {
  const encoder = new Encoder(key);
  encoder.add(0x00010203, 0x04050607, 0x08090a0b);
  const { sums, checks, counts, from, itemsCount } = encoder.next(2).toColumns();
  expect({ from, itemsCount }).toEqual({ from: 0, itemsCount: 1 });
  expect([...sums.subarray(0, 12)]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(Buffer.from(checks).readUInt32BE(0) | 0).toBe(
    encoderOf(key, [0x00010203_04050607_08090a0bn]).next(1).words[3],
  );
  expect(counts[0]).toBe(0); // 1 of floor(2 · 1 / 2) expected
});

test('R7 a symbol of a large set takes 21 or 22 bytes', () => {
  const bytes = sketchOf(key, 4_096, seededSet(1, 100_000)).block(64).toBytes();
  expect(bytes.length / (4_096 - 64)).toBeGreaterThan(20.9);
  expect(bytes.length / (4_096 - 64)).toBeLessThan(22);
});

test('R7 any other bytes are refused, or are a valid block', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .tuple(blocks, fc.nat(), fc.nat({ max: 255 }), fc.integer({ min: -3, max: 3 }))
      .map(([block, at, byte, extra]) => {
        const written = [...block.toBytes()];
        written[at % written.length] = byte;
        return Uint8Array.from(
          extra < 0 ? written.slice(0, extra) : [...written, ...Array(extra).fill(byte)],
        );
      }),
  );
  fc.assert(
    fc.property(bytes, (given) => {
      let block: SymbolBlock;
      try {
        block = SymbolBlock.fromBytes(given);
      } catch (thrown) {
        expect(thrown).toEqual(corrupt);
        return;
      }
      expect(Buffer.from(block.toBytes()).equals(given)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('R7 every shorter and every longer message is refused', () => {
  const bytes = sketchOf(key, 5, seededSet(1, 300)).block().toBytes();
  for (let length = 0; length < bytes.length; length += 1) {
    expect(() => SymbolBlock.fromBytes(bytes.subarray(0, length))).toThrow(RibltError);
  }
  expect(() => SymbolBlock.fromBytes(Uint8Array.of(...bytes, 0))).toThrow(RibltError);
});

test('R7 columns that are not those of a set are refused', () => {
  const columns = sketchOf(key, 9, seededSet(1, 10)).block(1).toColumns();
  const { sums, checks, counts, itemsCount } = columns;
  const withCount = (count: number) => ({ ...columns, counts: [count, ...counts.subarray(1)] });
  const refused = [
    { ...columns, sums: sums.subarray(1) },
    { ...columns, sums: sums.subarray(12) },
    { ...columns, checks: checks.subarray(8) },
    { ...columns, checks: new Uint8Array(checks.length + 1) },
    { ...columns, counts: counts.subarray(1) },
    { ...columns, sums: sums.subarray(0, 0), checks: checks.subarray(0, 0), counts: [] },
    { ...columns, from: -1 },
    { ...columns, from: 1.5 },
    { ...columns, from: SYMBOL_INDEX_END - 7 },
    { ...withCount(-1), from: 0 }, // symbol 0 has all items
    { ...columns, itemsCount: -1 },
    { ...columns, itemsCount: BLOCK_ITEMS_MAX + 1 },
    { ...columns, itemsCount: Number.NaN },
    withCount(itemsCount),
    withCount(-itemsCount),
    withCount(2 ** 31),
    withCount(0.5),
    withCount(Number.NaN),
    withCount(Number.POSITIVE_INFINITY),
  ];
  for (const [index, each] of refused.entries()) {
    expect(() => SymbolBlock.fromColumns(each), `case ${index}`).toThrow(corrupt);
  }
  expect(
    SymbolBlock.fromColumns({ ...columns, from: SYMBOL_INDEX_END - 8, counts: new Int32Array(8) })
      .length,
  ).toBe(8);
});

test('R8 a message that claims more than it holds is refused before memory is taken for it', () => {
  const claimsOf = (length: number) =>
    Uint8Array.of(0, 0, ...varint(length), ...new Uint8Array(64));
  for (const length of [4, 1_000, SYMBOL_INDEX_END, 2 ** 32 - 1]) {
    expect(() => SymbolBlock.fromBytes(claimsOf(length))).toThrow(/too few/);
  }
  expect(SymbolBlock.fromBytes(claimsOf(3).subarray(0, 3 + 63)).length).toBe(3);
});

test('R7 a varint has at most 32 bits and no needless bytes', () => {
  const { sums, checks } = new Encoder(key).next(1).toColumns();
  const message = (from: readonly number[]) => Uint8Array.of(...from, 0, 1, ...sums, ...checks, 0);
  expect(SymbolBlock.fromBytes(message([0x81, 0x01])).from).toBe(129);
  for (const from of [
    [0x81, 0x00],
    [0x80, 0x00],
    [0xff, 0xff, 0xff, 0xff, 0x1f],
    [0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
  ]) {
    expect(() => SymbolBlock.fromBytes(message(from))).toThrow(corrupt);
  }
});

test('R7 the block of a difference has no wire form', () => {
  const difference = sketchOf(key, 20, seededSet(1, 10)).subtract(
    sketchOf(key, 20, seededSet(2, 12)),
  );
  expect(() => difference.block().toBytes()).toThrow(RangeError);
});

test('R7 a block of the largest set', () => {
  const words = Int32Array.of(
    1,
    2,
    3,
    4,
    5,
    BLOCK_ITEMS_MAX,
    6,
    7,
    8,
    9,
    10,
    0,
    1,
    1,
    1,
    1,
    1,
    BLOCK_ITEMS_MAX,
  );
  const block = new SymbolBlock(0, BLOCK_ITEMS_MAX, words);
  expect(isSameBlock(SymbolBlock.fromBytes(block.toBytes()), block)).toBe(true);
});

function varint(value: number): number[] {
  const rest = Math.floor(value / 128);
  return rest === 0 ? [value] : [(value % 128) | 128, ...varint(rest)];
}
