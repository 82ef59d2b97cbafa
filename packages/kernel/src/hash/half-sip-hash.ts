// HalfSipHash-1-3 with 64-bit output (Aumasson and Bernstein): a keyed hash on 32-bit words.
//
// SipHash needs 64-bit arithmetic, which JavaScript only has as BigInt; this one runs on plain
// integers at twice the speed. One compression and three finalization rounds, as hash tables use it.
// The result is two little-endian words in `out`, so that a hot path allocates nothing.

export interface HalfSipKey {
  readonly k0: number;
  readonly k1: number;
}

/** Reads a key from the first 8 bytes, little endian. */
export function halfSipKey(bytes: Uint8Array): HalfSipKey {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
  return { k0: view.getInt32(0, true), k1: view.getInt32(4, true) };
}

interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Hashes the bytes of a range, or `length` bytes from its start, into `out[0]` and `out[1]`. A view reads a
 * word in one go.
 */
export function halfSipHash13(
  key: HalfSipKey,
  bytes: DataView,
  range: number | ByteRange,
  out: Uint32Array,
): void {
  const start = typeof range === 'number' ? 0 : range.start;
  const length = typeof range === 'number' ? range : range.end - range.start;
  let v0 = key.k0;
  let v1 = key.k1 ^ 0xee;
  let v2 = key.k0 ^ 0x6c796765;
  let v3 = key.k1 ^ 0x74656462;
  const wordsEnd = start + length - (length % 4);
  // A round is written out where it is needed: V8 then keeps the four words in registers.
  for (let position = start; position <= wordsEnd; position += 4) {
    const message =
      position < wordsEnd ? bytes.getInt32(position, true) : tailWord(bytes, wordsEnd, length);
    v3 ^= message;
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
    v0 ^= message;
  }
  v2 ^= 0xee;
  for (let round = 1; round <= 6; round += 1) {
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
    if (round === 3) {
      out[0] = v1 ^ v3;
      v1 ^= 0xdd;
    }
  }
  out[1] = v1 ^ v3;
}

/** The last 0 to 3 bytes, with the length in the top byte. */
function tailWord(bytes: DataView, wordsEnd: number, length: number): number {
  let word = length << 24;
  for (let at = 0; at < length % 4; at += 1) word |= bytes.getUint8(wordsEnd + at) << (8 * at);
  return word;
}
