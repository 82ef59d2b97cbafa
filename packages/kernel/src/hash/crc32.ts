// CRC-32 (IEEE 802.3, as in zlib and PNG): finds damaged bytes, keeps no secrets.
import { crc32 as zlibCrc32 } from 'node:zlib';

/** The checksum as an unsigned number. Pass the previous result to go on with more bytes. */
export function crc32(bytes: Uint8Array, previous = 0): number {
  return zlibCrc32(bytes, previous);
}
