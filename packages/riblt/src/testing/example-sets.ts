// Sets for tests, and their encoders.
import { Encoder } from '../encoder.js';
import type { RibltKey } from '../item-hash.js';
import { Sketch } from '../sketch.js';
import type { SymbolBlock } from '../symbol-block.js';
import { type PlainItem, wordsOf } from './plain-riblt.js';

export interface SetPair {
  readonly remote: readonly PlainItem[];
  readonly local: readonly PlainItem[];
  readonly onlyRemote: readonly PlainItem[];
  readonly onlyLocal: readonly PlainItem[];
}

/** Splits items between one side, both and the other, at two arbitrary cuts. */
export function splitSet(all: readonly PlainItem[], cuts: readonly [number, number]): SetPair {
  const [from = 0, to = 0] = cuts.map((cut) => cut % (all.length + 1)).toSorted((a, b) => a - b);
  return {
    remote: all.slice(0, to),
    local: all.slice(from),
    onlyRemote: all.slice(0, from),
    onlyLocal: all.slice(to),
  };
}

/** `count` items that differ from those of all other seeds. */
export function seededSet(seed: number, count: number): PlainItem[] {
  return Array.from({ length: count }, (_, index) => (BigInt(seed) << 64n) | BigInt(index));
}

export function sketchOf(key: RibltKey, symbols: number, set: Iterable<PlainItem>): Sketch {
  const sketch = new Sketch(symbols, key);
  for (const item of set) sketch.add(...wordsOf(item));
  return sketch;
}

export function encoderOf(key: RibltKey, set: Iterable<PlainItem>): Encoder {
  const encoder = new Encoder(key);
  for (const item of set) encoder.add(...wordsOf(item));
  return encoder;
}

/** Faster than comparing word by word with an expectation. */
export function isSameBlock(left: SymbolBlock, right: SymbolBlock): boolean {
  return (
    left.from === right.from &&
    left.itemsCount === right.itemsCount &&
    Buffer.compare(bytesOf(left), bytesOf(right)) === 0
  );
}

function bytesOf({ words }: SymbolBlock): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}
