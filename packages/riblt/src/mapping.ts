// Which symbols an item is part of: an endless, increasing sequence of indexes that starts with 0.
//
// Symbol i is hit with a probability of about 1 / (1 + i/2), so an item is part of some 2·ln(m/2) of the
// first m symbols. The gaps come from a small generator that the hash of the item seeds. Its state has 64
// bits: with 32, two of 100,000 items would share all their symbols, and never decode, more often than not.
//
// The three functions are one step, split so that hot loops keep the state (s0, s1, index) in locals. They
// use only operations that IEEE 754 rounds exactly, so the sequence is the same on every machine.
//
// R3  Equal hashes give equal sequences everywhere; they start with 0 and rise strictly.

/**
 * No symbol has this index or a higher one, so an index always fits a signed word. A stream would have to
 * send 22 GB to get there.
 */
export const SYMBOL_INDEX_END = 2 ** 30;

/** The state of the generator starts with the hash. It must not be all zero. */
export function firstS0(h0: number): number {
  return h0 | 0;
}

export function firstS1(h1: number): number {
  return h1 | 1;
}

/** The index after `index`, or SYMBOL_INDEX_END. `s0` is the state at `index`, before the step. */
export function nextIndex(index: number, s0: number): number {
  const random = Math.imul(s0, 0x9e3779bb) >>> 0;
  const gap = (index + 1.5) * (65_536 / Math.sqrt(random + 1) - 1);
  if (gap >= SYMBOL_INDEX_END - index) return SYMBOL_INDEX_END;
  const floor = gap | 0; // cheaper than Math.ceil: it keeps the index an integer
  if (floor < gap) return index + floor + 1;
  return index + (floor === 0 ? 1 : floor);
}

export function nextS0(s0: number, s1: number): number {
  const mixed = s1 ^ s0;
  return ((s0 << 26) | (s0 >>> 6)) ^ mixed ^ (mixed << 9);
}

export function nextS1(s0: number, s1: number): number {
  const mixed = s1 ^ s0;
  return (mixed << 13) | (mixed >>> 19);
}
