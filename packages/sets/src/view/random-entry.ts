// One of many stored entries, uniformly, without reading them all.
//
// Keys of a kind are spread evenly over 2^48 positions. One of 2^b equal ranges is drawn, b such that a
// range holds 16 to 32 entries in the mean. A range with c entries is accepted with the probability c/64,
// and then one of them is drawn: so each entry has the same chance, 1 in 64 · 2^b, however they lie.
//
// A range with more than 64 would break that rule. Under a keyed hash it is met less than once in a
// million draws; then, and if nothing is accepted for very long, all entries are read instead.
import { assert, type Random, randomBelow } from '@syncline/kernel';

const RANGE_MEAN_MAX = 32;
const RANGE_ENTRIES_MAX = 64;
const DRAWS_MAX = 1_000;
const POSITIONS_BITS = 48;

export interface RandomEntrySource {
  /** How many entries there are. At least 1. */
  readonly count: number;
  /** Keys from one position up to another. */
  keys(from: number, to: number): AsyncIterable<readonly Uint8Array[]>;
}

export async function drawKey(source: RandomEntrySource, random: Random): Promise<Uint8Array> {
  assert(source.count > 0, 'there is something to draw from');
  const bits = Math.max(0, Math.ceil(Math.log2(source.count / RANGE_MEAN_MAX)));
  const width = 2 ** (POSITIONS_BITS - bits);
  for (let draw = 0; bits > 0 && draw < DRAWS_MAX; draw += 1) {
    const from = randomBelow(random, 2 ** bits) * width;
    const keys = await collect(source.keys(from, from + width));
    if (keys.length > RANGE_ENTRIES_MAX) break;
    const key = keys[randomBelow(random, RANGE_ENTRIES_MAX)];
    if (key !== undefined) return key;
  }
  return drawOfAll(source, random);
}

/** Reads all: the n-th entry takes the place of the one kept so far with probability 1/n. */
async function drawOfAll(source: RandomEntrySource, random: Random): Promise<Uint8Array> {
  let kept: Uint8Array | undefined;
  let seen = 0;
  for await (const batch of source.keys(0, 2 ** POSITIONS_BITS)) {
    for (const key of batch) {
      seen += 1;
      if (randomBelow(random, seen) === 0) kept = key;
    }
  }
  assert(kept !== undefined, 'there is something to draw from');
  return kept;
}

async function collect(batches: AsyncIterable<readonly Uint8Array[]>): Promise<Uint8Array[]> {
  const keys: Uint8Array[] = [];
  for await (const batch of batches) {
    keys.push(...batch);
    if (keys.length > RANGE_ENTRIES_MAX) return keys;
  }
  return keys;
}
