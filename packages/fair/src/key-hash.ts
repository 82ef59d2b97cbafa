// Maps a key to its cells. Two hashes give the two words of double hashing, which select a column on each
// level; a salt per window moves every flow when the window changes.
//
// The keyed hash is the default since seeds are public: with a hash that anyone can compute, anyone could
// construct keys that share all cells with a victim's. It digests a key once for both windows. Murmur3 exists
// for parity with FAIR and uses BigInt.
import {
  fmix32,
  type HalfSipKey,
  halfSipHash13,
  halfSipKey,
  hmacSha256,
  murmur3x64x128,
} from '@syncline/kernel';
import { type FlowKey, KeyBytes } from './flow-key.js';

/** Four words that move every flow of a window. */
export type WindowSalt = Uint32Array;

export interface KeyHash {
  saltOf(seed: number): WindowSalt;
  /** Sets the key that `locate` refers to until the next call. */
  digest(key: FlowKey): void;
  /** Writes the two words of the key in a window. */
  locate(salt: WindowSalt, words: Uint32Array): void;
}

export class KeyedHash implements KeyHash {
  readonly #secret: Uint8Array;
  readonly #key: HalfSipKey;
  readonly #keyBytes = new KeyBytes();
  readonly #digest = new Uint32Array(2);

  constructor(secret: Uint8Array) {
    this.#secret = secret;
    this.#key = halfSipKey(hmacSha256(secret, ascii('syncline/fair/base/1')));
  }

  saltOf(seed: number): WindowSalt {
    return keyedSalt(this.#secret, seed);
  }

  digest(key: FlowKey): void {
    this.#keyBytes.take(key);
    halfSipHash13(this.#key, this.#keyBytes.view, this.#keyBytes.length, this.#digest);
  }

  locate(salt: WindowSalt, words: Uint32Array): void {
    const first = this.#digest[0] ?? 0;
    const second = this.#digest[1] ?? 0;
    const h1 = fmix32((first + (salt[0] ?? 0) + Math.imul(second, (salt[1] ?? 0) | 1)) | 0);
    words[0] = h1;
    words[1] = fmix32((second + (salt[2] ?? 0) + Math.imul(h1, (salt[3] ?? 0) | 1)) | 0);
  }
}

export class MurmurHash implements KeyHash {
  readonly #keyBytes = new KeyBytes();
  readonly saltOf: (seed: number) => WindowSalt;

  /** Only the first word of a salt counts. */
  constructor(saltOf: (seed: number) => WindowSalt) {
    this.saltOf = saltOf;
  }

  digest(key: FlowKey): void {
    this.#keyBytes.take(key);
  }

  locate(salt: WindowSalt, words: Uint32Array): void {
    const { bytes, length } = this.#keyBytes;
    const [low] = murmur3x64x128(bytes.subarray(0, length), salt[0]);
    words[0] = Number(low & 0xffff_ffffn);
    words[1] = Number(low >> 32n);
  }
}

/** Instances with the same secret derive the same salt for a window, without communication. */
export function keyedSalt(secret: Uint8Array, seed: number): WindowSalt {
  const label = ascii('syncline/fair/window/1');
  const message = new Uint8Array(label.length + 8);
  message.set(label);
  new DataView(message.buffer).setBigInt64(label.length, BigInt(seed));
  const digest = new DataView(hmacSha256(secret, message).buffer);
  return Uint32Array.from({ length: 4 }, (_, index) => digest.getUint32(4 * index, true));
}

/** Shows whether two instances hash alike, and reveals nothing else about the secret. */
export function keyCheckOf(secret: Uint8Array): bigint {
  const digest = hmacSha256(secret, ascii('syncline/fair/check/1'));
  return new DataView(digest.buffer).getBigUint64(0, true);
}

export function columnAt(words: Uint32Array, level: number, columns: number): number {
  return (((words[0] ?? 0) + Math.imul(level, words[1] ?? 0)) >>> 0) % columns;
}

function ascii(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
