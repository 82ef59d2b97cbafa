// HalfSipHash-1-3 with 64-bit output (Aumasson and Bernstein): a keyed hash on 32-bit words.
//
// SipHash needs 64-bit arithmetic, which JavaScript only has as BigInt; this one runs on plain
// integers at twice the speed. One compression and three finalisation rounds, as hash tables use it.
// The result is two little-endian words in `out`, so that a hot path allocates nothing.

export interface HalfSipKey {
  readonly k0: number;
  readonly k1: number;
}

/** Reads a key from the first 8 bytes, little endian. */
export function halfSipKey(bytes: Uint8Array): HalfSipKey {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
  return { k0: view.getUint32(0, true), k1: view.getUint32(4, true) };
}

/** Hashes the first `length` bytes into `out[0]` and `out[1]`. */
export function halfSipHash13(
  key: HalfSipKey,
  bytes: Uint8Array,
  length: number,
  out: Uint32Array,
): void {
  let v0 = key.k0;
  let v1 = key.k1 ^ 0xee;
  let v2 = key.k0 ^ 0x6c796765;
  let v3 = key.k1 ^ 0x74656462;
  const wordsEnd = length - (length % 4);
  // Round 0 to `words` are compressions (the last takes the tail), then three and three finalise.
  // The round is written once in a loop: V8 keeps the four words in registers.
  let position = 0;
  let message = 0;
  let finalRounds = 0;
  for (;;) {
    if (position <= wordsEnd) {
      message = position < wordsEnd ? wordAt(bytes, position) : tailWord(bytes, wordsEnd, length);
      v3 ^= message;
    } else {
      finalRounds += 1;
    }
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    if (finalRounds === 0) {
      v0 ^= message;
      if (position === wordsEnd) v2 ^= 0xee;
      position += 4;
    } else if (finalRounds === 3) {
      out[0] = v1 ^ v3;
      v1 ^= 0xdd;
    } else if (finalRounds === 6) {
      out[1] = v1 ^ v3;
      return;
    }
  }
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  );
}

/** The last 0 to 3 bytes, with the length in the top byte. */
function tailWord(bytes: Uint8Array, wordsEnd: number, length: number): number {
  let word = length << 24;
  for (let at = wordsEnd; at < length; at += 1) word |= (bytes[at] ?? 0) << (8 * (at - wordsEnd));
  return word;
}
