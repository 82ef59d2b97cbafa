// The same algorithms written as plainly as possible, as a reference for the fast ones: big integers, an object
// per symbol, sets of items, and no regard for speed.
import type { RibltKey } from '../item-hash.js';
import { SYMBOL_WORDS, type SymbolBlock } from '../symbol-block.js';

/** 96 bits: w0 · 2^64 + w1 · 2^32 + w2. */
export type PlainItem = bigint;

export interface PlainSymbol {
  readonly sum: bigint;
  readonly check: bigint;
  readonly count: number;
}

export interface PlainDifference {
  readonly onlyRemote: ReadonlySet<PlainItem>;
  readonly onlyLocal: ReadonlySet<PlainItem>;
}

export function wordsOf(item: PlainItem): [number, number, number] {
  return [Number(item >> 64n), Number(word(item >> 32n)), Number(word(item))];
}

/** Of three words each. */
export function itemsOf(words: ArrayLike<number>): PlainItem[] {
  return Array.from({ length: words.length / 3 }, (_, index) => joined(words, index * 3, 3));
}

export function symbolsOf(block: SymbolBlock): PlainSymbol[] {
  return Array.from({ length: block.length }, (_, index) => ({
    sum: joined(block.words, index * SYMBOL_WORDS, 3),
    check: joined(block.words, index * SYMBOL_WORDS + 3, 2),
    count: block.words[index * SYMBOL_WORDS + 5] ?? 0,
  }));
}

/** 64 bits: h0 · 2^32 + h1. */
export function plainHash(key: RibltKey, item: PlainItem): bigint {
  const [w0, w1, w2] = wordsOf(item).map(BigInt) as [bigint, bigint, bigint];
  const x = finalized(finalized(finalized(BigInt(key.k0) ^ w0) + w1) ^ w2);
  const y = finalized(finalized(finalized(BigInt(key.k1) ^ w2) + w0) ^ w1);
  const h0 = finalized(x + y * 0x9e3779b1n);
  return (h0 << 32n) | finalized(y ^ h0);
}

/** The indexes below `end` of the symbols that an item with this hash is part of. */
export function plainIndexes(hash: bigint, end: number): number[] {
  const indexes: number[] = [];
  let s0 = hash >> 32n;
  let s1 = word(hash) | 1n;
  for (let index = 0; index < end; ) {
    indexes.push(index);
    const random = Number(word(s0 * 0x9e3779bbn));
    s1 ^= s0;
    s0 = rotated(s0, 26n) ^ s1 ^ word(s1 << 9n);
    s1 = rotated(s1, 13n);
    index += Math.max(1, Math.ceil((index + 1.5) * (65_536 / Math.sqrt(random + 1) - 1)));
  }
  return indexes;
}

/** The first `count` symbols of a set. */
export function plainSymbols(
  key: RibltKey,
  items: Iterable<PlainItem>,
  count: number,
): PlainSymbol[] {
  const symbols = Array.from({ length: count }, () => ({ sum: 0n, check: 0n, count: 0 }));
  for (const item of items) {
    const hash = plainHash(key, item);
    for (const index of plainIndexes(hash, count)) addTo(symbols, index, { item, hash, sign: 1 });
  }
  return symbols;
}

/** The difference that these symbols describe, or undefined if they do not suffice. */
export function plainDecode(
  key: RibltKey,
  remote: readonly PlainSymbol[],
  local: readonly PlainSymbol[],
): PlainDifference | undefined {
  const symbols = remote.map(({ sum, check, count }, index) => ({
    sum: sum ^ (local[index]?.sum ?? 0n),
    check: check ^ (local[index]?.check ?? 0n),
    count: count - (local[index]?.count ?? 0),
  }));
  const onlyRemote = new Set<PlainItem>();
  const onlyLocal = new Set<PlainItem>();
  for (;;) {
    const pure = symbols.find(
      ({ sum, check, count }) => Math.abs(count) === 1 && plainHash(key, sum) === check,
    );
    if (pure === undefined) break;
    const { sum: item, check: hash, count } = pure;
    (count === 1 ? onlyRemote : onlyLocal).add(item);
    for (const index of plainIndexes(hash, symbols.length)) {
      addTo(symbols, index, { item, hash, sign: -count });
    }
  }
  const isDone = symbols.every(({ sum, check, count }) => !sum && !check && !count);
  return isDone ? { onlyRemote, onlyLocal } : undefined;
}

function addTo(
  symbols: { sum: bigint; check: bigint; count: number }[],
  index: number,
  { item, hash, sign }: { item: PlainItem; hash: bigint; sign: number },
): void {
  const symbol = symbols[index];
  if (symbol === undefined) return;
  symbol.sum ^= item;
  symbol.check ^= hash;
  symbol.count += sign;
}

function finalized(value: bigint): bigint {
  let h = word(value);
  h = word((h ^ (h >> 16n)) * 0x85ebca6bn);
  h = word((h ^ (h >> 13n)) * 0xc2b2ae35n);
  return h ^ (h >> 16n);
}

function rotated(value: bigint, bits: bigint): bigint {
  return word(value << bits) | (value >> (32n - bits));
}

function word(value: bigint): bigint {
  return BigInt.asUintN(32, value);
}

function joined(words: ArrayLike<number>, from: number, count: number): bigint {
  let value = 0n;
  for (let index = from; index < from + count; index += 1) {
    value = (value << 32n) | word(BigInt(words[index] ?? 0));
  }
  return value;
}
