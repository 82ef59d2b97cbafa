// CRC-32 (IEEE 802.3, as in zlib and PNG): detects damage, but is not cryptographic.
//
// zlib is fast for long inputs, but calling it costs as much as hashing 40 bytes here. Keys and values of the stores
// are mostly shorter, and there is one checksum for each.
import { crc32 as zlibCrc32 } from 'node:zlib';

const SHORT_BYTES = 64;
const POLYNOMIAL = 0xedb8_8320;
/** The contribution of each byte value. */
const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ POLYNOMIAL : sum >>> 1;
  return sum;
});

/** The checksum as an unsigned number. Pass the previous result to continue with more bytes. */
export function crc32(bytes: Uint8Array, previous = 0): number {
  return crc32Between(bytes, 0, bytes.length, previous);
}

/** The checksum of the bytes from `start` up to `end`. */
export function crc32Between(
  bytes: Uint8Array,
  start: number,
  end: number,
  previous: number,
): number {
  if (end - start > SHORT_BYTES) {
    const isWhole = start === 0 && end === bytes.length;
    return zlibCrc32(isWhole ? bytes : bytes.subarray(start, end), previous);
  }
  let sum = ~previous;
  for (let at = start; at < end; at += 1) {
    sum = (sum >>> 8) ^ (TABLE[(sum ^ (bytes[at] as number)) & 0xff] as number);
  }
  return ~sum >>> 0;
}
