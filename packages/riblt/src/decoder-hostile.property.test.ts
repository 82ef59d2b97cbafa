import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Decoder, type DecoderOptions } from './decoder.js';
import { RibltError } from './riblt-error.js';
import { Sketch } from './sketch.js';
import { SYMBOL_WORDS, SymbolBlock } from './symbol-block.js';
import { seededSet, sketchOf, splitSet } from './testing/example-sets.js';
import { itemsOf, plainHash, plainIndexes, wordsOf } from './testing/plain-riblt.js';

const key = { k0: 0x01234567, k1: 0x89abcdef };
const corrupt = expect.objectContaining({ name: 'RibltError', code: 'corrupt' });
const limitExceeded = expect.objectContaining({ name: 'RibltError', code: 'limit-exceeded' });

/** Symbols invented by a hostile peer; they need not be those of a set. */
class ForgedSymbols {
  readonly words: Int32Array;
  constructor(symbols: number) {
    this.words = new Int32Array(symbols * SYMBOL_WORDS);
  }
  put(index: number, item: bigint, count: number): this {
    const check = plainHash(key, item);
    const symbol = [...wordsOf(item), Number(check >> 32n), Number(check & 0xffffffffn), count];
    this.words.set(Int32Array.from(symbol), index * SYMBOL_WORDS);
    return this;
  }
  /** Against an empty local set. */
  pushTo(decoder: Decoder): 'more' | 'done' {
    return pushWords(decoder, this.words);
  }
}

function pushWords(decoder: Decoder, words: Int32Array): 'more' | 'done' {
  const from = decoder.symbolsCount;
  const local = new SymbolBlock(from, 0, new Int32Array(words.length));
  return decoder.push(new SymbolBlock(from, 1, words), local);
}

/** Random, but the same in each run. */
function noise(wordsCount: number, seed: number): Int32Array {
  let state = seed;
  return Int32Array.from({ length: wordsCount }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
  });
}

test('R10 damaged symbols give an error, "more", or a difference that explains all of them', () => {
  const flips = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 31 })), { minLength: 1, maxLength: 6 });
  const sets = fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }), { maxLength: 40 });
  const seen = { error: 0, more: 0, done: 0 };
  fc.assert(
    fc.property(sets, fc.tuple(fc.nat(), fc.nat()), flips, (all, cuts, damage) => {
      const { remote, local, onlyRemote, onlyLocal } = splitSet(all, cuts);
      const size = 2 * all.length + 20;
      const block = sketchOf(key, size, remote).block();
      for (const [at, bit] of damage) {
        block.words[at % block.words.length] =
          (block.words[at % block.words.length] ?? 0) ^ (1 << bit);
      }
      const result = outcomeOf(block, sketchOf(key, size, local).block());
      seen[result.kind] += 1;
      if (result.kind !== 'done') return;
      // A count has no checksum. Where two items share all symbols but one, changing its count swaps their sides.
      const isCount = ([at]: readonly [number, number]) =>
        (at % block.words.length) % SYMBOL_WORDS === SYMBOL_WORDS - 1;
      const found = sketchOf(key, size, [...local, ...result.onlyRemote]);
      for (const item of result.onlyLocal) found.remove(...wordsOf(item));
      const received = result.symbolsCount * SYMBOL_WORDS;
      expect(found.block().words.slice(0, received)).toEqual(block.words.slice(0, received));
      if (damage.some(isCount)) return;
      expect(new Set(result.onlyRemote)).toEqual(new Set(onlyRemote));
      expect(new Set(result.onlyLocal)).toEqual(new Set(onlyLocal));
    }),
    { numRuns: 1_000 },
  );
  expect(seen.error).toBeGreaterThan(100);
  expect(seen.more).toBeGreaterThan(100);
});

test('R10 changed counts never move an item to the other side', () => {
  const counts = fc.array(fc.tuple(fc.nat(), fc.integer({ min: -2, max: 2 })), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), counts, (itemsCount, changes) => {
      const set = seededSet(itemsCount, itemsCount);
      const block = sketchOf(key, 40, set).block();
      for (const [index, change] of changes) {
        const at = (index % 40) * SYMBOL_WORDS + 5;
        block.words[at] = (block.words[at] ?? 0) + change;
      }
      const result = outcomeOf(block, new Sketch(40, key).block());
      if (result.kind !== 'done') return;
      expect(new Set(result.onlyRemote)).toEqual(new Set(set));
      expect(result.onlyLocal).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

test('R10 symbols that do not fit the difference that the others give are corrupt', () => {
  const block = sketchOf(key, 40, seededSet(1, 5)).block();
  block.words[39 * SYMBOL_WORDS] = 1;
  expect(() => new Decoder(key).push(block, new Sketch(40, key).block())).toThrow(corrupt);
  const equal = new ForgedSymbols(10).put(7, 5n, 3); // symbol 0 says that the sets are equal
  expect(() => equal.pushTo(new Decoder(key))).toThrow(corrupt);
});

test('R11 an item in only some of its symbols does not make peeling go round in circles', () => {
  const item = 12_345n;
  const indexes = plainIndexes(plainHash(key, item), 1_000);
  for (const index of indexes.slice(0, 8)) {
    const forged = new ForgedSymbols(1_000).put(index, item, 1);
    expect(() => forged.pushTo(new Decoder(key))).toThrow(corrupt);
  }
});

test('R11 an item in a symbol that it is not part of is corrupt', () => {
  const item = 12_345n;
  const indexes = plainIndexes(plainHash(key, item), 1_000);
  const foreign = Array.from({ length: 50 }, (_, index) => index).filter(
    (index) => !indexes.includes(index),
  );
  for (const index of foreign) {
    const forged = new ForgedSymbols(1_000);
    for (const own of indexes) forged.put(own, 1n << 90n, 5);
    expect(() => forged.put(index, item, 1).pushTo(new Decoder(key))).toThrow(corrupt);
  }
});

test('R11 an item that was found is not found again, on either side', () => {
  for (const count of [1, -1]) {
    const sketch = sketchOf(key, 200, [...seededSet(1, 20), 7n]);
    const block = sketch.block(0, 199);
    const decoder = new Decoder(key);
    // Symbol 0 has a change that keeps the decoder waiting.
    block.words[0] = (block.words[0] ?? 0) ^ 1;
    const local = new Sketch(200, key);
    expect(decoder.push(block, local.block(0, 199))).toBe('more');
    const again = new ForgedSymbols(1).put(0, 7n, count);
    const forged = new SymbolBlock(199, 21, again.words);
    expect(() => decoder.push(forged, local.block(199))).toThrow(corrupt);
  }
});

test('R11 symbols with a different item each, all of them valid alone, are corrupt at once', () => {
  const forged = new ForgedSymbols(500);
  for (let index = 0; index < 500; index += 1) {
    const belongs = seededSet(index, 5_000).find((item) =>
      plainIndexes(plainHash(key, item), index + 1).includes(index),
    );
    if (belongs !== undefined) forged.put(index, belongs, 1);
  }
  expect(() => forged.pushTo(new Decoder(key))).toThrow(corrupt);
});

test('R11 noise ends at symbolsMax, even when every symbol looks like a single item', () => {
  for (const count of [undefined, 1, -1, 0, 2 ** 31 - 1, -(2 ** 31)]) {
    const decoder = new Decoder(key, { symbolsMax: 50_000 });
    for (let block = 0; block < 50; block += 1) {
      const words = noise(1_000 * SYMBOL_WORDS, block);
      if (count !== undefined) {
        for (let at = 5; at < words.length; at += SYMBOL_WORDS) words[at] = count;
      }
      expect(pushWords(decoder, words)).toBe('more');
    }
    expect(() => pushWords(decoder, noise(SYMBOL_WORDS, 1))).toThrow(limitExceeded);
    expect(() => pushWords(decoder, noise(SYMBOL_WORDS, 1))).toThrow(limitExceeded);
  }
});

test('R11 symbolsMax symbols are accepted, and one more is not', () => {
  const symbolsNeeded = symbolsUntilDone(seededSet(1, 30));
  for (const blocks of [[symbolsNeeded], [symbolsNeeded - 1, 1], [3, symbolsNeeded - 3]]) {
    expect(decodeIn(blocks, { symbolsMax: symbolsNeeded })).toBe('done');
    expect(() => decodeIn(blocks, { symbolsMax: symbolsNeeded - 1 })).toThrow(limitExceeded);
  }
});

test('R11 itemsMax items are found, and one more is not', () => {
  const symbolsNeeded = symbolsUntilDone(seededSet(1, 30));
  expect(decodeIn([symbolsNeeded], { itemsMax: 30 })).toBe('done');
  expect(() => decodeIn([symbolsNeeded], { itemsMax: 29 })).toThrow(limitExceeded);
});

test('R11 the remote stream has no gaps, no repeats and one number of items', () => {
  const [remote, local] = [sketchOf(key, 40, seededSet(1, 30)), new Sketch(40, key)];
  for (const [from, to] of [
    [11, 20],
    [9, 20],
    [0, 10],
  ] as const) {
    const decoder = new Decoder(key);
    decoder.push(remote.block(0, 10), local.block(0, 10));
    expect(() => decoder.push(remote.block(from, to), local.block(from, to))).toThrow(corrupt);
    expect(() => decoder.push(remote.block(10), local.block(10))).toThrow(corrupt); // it stays so
    expect(() => decoder.onlyRemote()).toThrow(RangeError);
  }
  const decoder = new Decoder(key);
  decoder.push(remote.block(0, 10), local.block(0, 10));
  const changed = new SymbolBlock(10, 31, remote.block(10).words);
  expect(() => decoder.push(changed, local.block(10))).toThrow(corrupt);
});

type Outcome =
  | { readonly kind: 'error' | 'more' }
  | {
      readonly kind: 'done';
      readonly symbolsCount: number;
      readonly onlyRemote: bigint[];
      readonly onlyLocal: bigint[];
    };

/** Half of the symbols first, then the others. */
function outcomeOf(remote: SymbolBlock, local: SymbolBlock): Outcome {
  const decoder = new Decoder(key);
  const half = (remote.length >> 1) * SYMBOL_WORDS;
  try {
    for (const [from, to] of [
      [0, half],
      [half, remote.words.length],
    ] as const) {
      const [there, here] = [remote, local].map(
        ({ itemsCount, words }) =>
          new SymbolBlock(from / SYMBOL_WORDS, itemsCount, words.slice(from, to)),
      );
      if (there === undefined || here === undefined || decoder.push(there, here) === 'more')
        continue;
      return {
        kind: 'done',
        symbolsCount: decoder.symbolsCount,
        onlyRemote: itemsOf(decoder.onlyRemote()),
        onlyLocal: itemsOf(decoder.onlyLocal()),
      };
    }
    return { kind: 'more' };
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(RibltError);
    return { kind: 'error' };
  }
}

function symbolsUntilDone(set: readonly bigint[]): number {
  const [remote, local] = [sketchOf(key, 500, set), new Sketch(500, key)];
  const decoder = new Decoder(key);
  for (let index = 0; ; index += 1) {
    const state = decoder.push(remote.block(index, index + 1), local.block(index, index + 1));
    if (state === 'done') return index + 1;
  }
}

/** Decodes a set of 30 items against an empty one, in blocks of these lengths. */
function decodeIn(lengths: readonly number[], options: DecoderOptions): 'more' | 'done' {
  const [remote, local] = [sketchOf(key, 500, seededSet(1, 30)), new Sketch(500, key)];
  const decoder = new Decoder(key, options);
  let state: 'more' | 'done' = 'more';
  for (const length of lengths) {
    const from = decoder.symbolsCount;
    state = decoder.push(remote.block(from, from + length), local.block(from, from + length));
  }
  return state;
}
