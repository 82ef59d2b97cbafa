// The hash of an item: 12 bytes as three words, under a key of two words, to two words.
//
// It is the checksum of a symbol, the item's share of a digest over a set of items, and the seed of its
// mapping to symbols. It is not linear in xor: a sum of items must not look like an item.

export interface RibltKey {
  readonly k0: number;
  readonly k1: number;
}

/** Two words. The caller reuses it, so that a hot path allocates nothing. */
export type ItemHash = Int32Array | Uint32Array;

/** Writes the hash of the item (w0, w1, w2) into `out[0]` and `out[1]`. */
export function ribltHash(key: RibltKey, item: ArrayLike<number>, out: ItemHash): void {
  const w0 = item[0] ?? 0;
  const w1 = item[1] ?? 0;
  const w2 = item[2] ?? 0;
  const x = mix((mix((mix(key.k0 ^ w0) + w1) | 0) ^ w2) | 0);
  const y = mix((mix((mix(key.k1 ^ w2) + w0) | 0) ^ w1) | 0);
  const h0 = mix((x + Math.imul(y, 0x9e3779b1)) | 0);
  out[0] = h0;
  out[1] = mix(y ^ h0);
}

/** The 32-bit finalizer of murmur3. */
function mix(word: number): number {
  let h = word;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
