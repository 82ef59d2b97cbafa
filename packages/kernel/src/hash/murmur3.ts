// MurmurHash3 (Appleby): x86-32 for key groups and mixing, x64-128 for parity with other libraries.
// Neither is keyed: never use them on input that an adversary may choose to collide.

/** The 32-bit finaliser: every input bit changes every output bit with probability one half. */
export function fmix32(word: number): number {
  let h = word;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** MurmurHash3_x86_32 of the first `length` bytes, as an unsigned number. */
export function murmur3x86x32(bytes: Uint8Array, seed = 0, length = bytes.length): number {
  const blocksEnd = length - (length % 4);
  let h = seed | 0;
  for (let at = 0; at < blocksEnd; at += 4) {
    h ^= mix32(littleEndian(bytes, at, 4));
    h = (h << 13) | (h >>> 19);
    h = (Math.imul(h, 5) + 0xe6546b64) | 0;
  }
  if (blocksEnd < length) h ^= mix32(littleEndian(bytes, blocksEnd, length - blocksEnd));
  return fmix32(h ^ length);
}

function mix32(word: number): number {
  const k = Math.imul(word, 0xcc9e2d51);
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
}

function littleEndian(bytes: Uint8Array, at: number, count: number): number {
  let word = 0;
  for (let i = 0; i < count; i += 1) word |= (bytes[at + i] ?? 0) << (8 * i);
  return word;
}

const MASK = (1n << 64n) - 1n;
const C1 = 0x87c37b91114253d5n;
const C2 = 0x4cf5ad432745937fn;

/** MurmurHash3_x64_128: the two 64-bit words. Uses BigInt, since no hot path calls it. */
export function murmur3x64x128(bytes: Uint8Array, seed = 0): readonly [bigint, bigint] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const blocksEnd = bytes.length - (bytes.length % 16);
  let h1 = BigInt(seed >>> 0);
  let h2 = h1;
  for (let at = 0; at < blocksEnd; at += 16) {
    h1 ^= mixFirst(view.getBigUint64(at, true));
    h1 = ((rotate64(h1, 27n) + h2) * 5n + 0x52dce729n) & MASK;
    h2 ^= mixSecond(view.getBigUint64(at + 8, true));
    h2 = ((rotate64(h2, 31n) + h1) * 5n + 0x38495ab5n) & MASK;
  }
  let [k1, k2] = [0n, 0n];
  for (let at = bytes.length - 1; at >= blocksEnd; at -= 1) {
    const byte = BigInt(bytes[at] ?? 0);
    if (at - blocksEnd >= 8) k2 = (k2 << 8n) | byte;
    else k1 = (k1 << 8n) | byte;
  }
  h1 ^= mixFirst(k1) ^ BigInt(bytes.length);
  h2 ^= mixSecond(k2) ^ BigInt(bytes.length);
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  h1 = fmix64(h1);
  h2 = fmix64(h2);
  h1 = (h1 + h2) & MASK;
  return [h1, (h2 + h1) & MASK];
}

function mixFirst(word: bigint): bigint {
  return (rotate64((word * C1) & MASK, 31n) * C2) & MASK;
}

function mixSecond(word: bigint): bigint {
  return (rotate64((word * C2) & MASK, 33n) * C1) & MASK;
}

function rotate64(word: bigint, by: bigint): bigint {
  return ((word << by) | (word >> (64n - by))) & MASK;
}

function fmix64(word: bigint): bigint {
  let k = word;
  k = ((k ^ (k >> 33n)) * 0xff51afd7ed558ccdn) & MASK;
  k = ((k ^ (k >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK;
  return k ^ (k >> 33n);
}
