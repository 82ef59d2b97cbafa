// A value as LevelDB keeps it: the bytes, then a CRC-32 over key and value.
//
// LevelDB does not verify its tables on read. In experiments with single flipped bytes it silently returned
// wrong values, so each value carries its own checksum. The key is part of it: otherwise a damaged key would
// pass its value to another key. The key's length is the seed, so that bytes cannot move from the key into the
// value unnoticed.
//
// K18  A damaged value is `corrupt`; it is never returned.
import { SynclineError } from '../error.js';
import { crc32, crc32Between } from '../hash/crc32.js';
import { copyBytes } from './scratch-bytes.js';

/** The overhead of a sealed value. */
export const CHECKSUM_BYTES = 4;
/** Longer keys are cut in messages. */
const KEY_BYTES_SHOWN = 32;

/**
 * Fills `sealed`. `content` contains the key from `keyStart` on and, right after it, from `valueStart` on the value,
 * which is as long as `sealed` without the checksum.
 */
export function sealValue(
  sealed: Uint8Array,
  content: Uint8Array,
  keyStart: number,
  valueStart: number,
): void {
  const length = sealed.length - CHECKSUM_BYTES;
  const valueEnd = valueStart + length;
  copyBytes(sealed, content, valueStart, valueEnd);
  writeU32(sealed, length, crc32Between(content, keyStart, valueEnd, valueStart - keyStart));
}

/** The value, as a view of the sealed bytes. */
export function unsealValue(key: Uint8Array, sealed: Uint8Array, directory: string): Uint8Array {
  const length = sealed.length - CHECKSUM_BYTES;
  if (length >= 0) {
    const value = new Uint8Array(sealed.buffer, sealed.byteOffset, length);
    if (checksum(key, value) === readU32(sealed, length)) return value;
  }
  throw corruptValue(key, directory);
}

function checksum(key: Uint8Array, value: Uint8Array): number {
  return crc32(value, crc32(key, key.length));
}

function corruptValue(key: Uint8Array, directory: string): SynclineError {
  const isCut = key.length > KEY_BYTES_SHOWN;
  const shown = Buffer.from(key.subarray(0, KEY_BYTES_SHOWN)).toString('hex');
  const keyHex = isCut ? `${shown}…` : shown;
  return new SynclineError(
    'corrupt',
    `the value of key 0x${keyHex} in ${directory} does not match its checksum. ` +
      'The disk probably damaged it. Restore the directory from a backup, or from a peer.',
    { details: { directory, keyHex, keyBytes: key.length } },
  );
}

function writeU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

function readU32(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16);
  return (high | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0;
}
