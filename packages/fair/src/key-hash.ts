// Where the cells of a key lie. Two hashes give the two words of double hashing, which name a column
// on each level; a salt per window moves every flow when the window changes.
//
// The keyed hash is the default since seeds are public: with a hash that anyone can compute, anyone
// could make keys that share all cells with a victim's. It digests a key once for both windows.
// Murmur3 is there for parity with FAIR and runs on BigInt.
import { createHmac } from 'node:crypto';
import {
  fmix32,
  type HalfSipKey,
  halfSipHash13,
  halfSipKey,
  murmur3x64x128,
} from '@syncline/kernel';
import { type FlowKey, KeyBytes } from './flow-key.js';

/** Four words that move every flow of a window. */
export type WindowSalt = Uint32Array;

export interface KeyHash {
  saltOf(seed: number): WindowSalt;
  /** Takes a key in; `locate` speaks of it until the next. */
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
    this.#key = halfSipKey(createHmac('sha256', secret).update('syncline/fair/base/1').digest());
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

/** Instances with one secret get one salt for a window, without talking to each other. */
export function keyedSalt(secret: Uint8Array, seed: number): WindowSalt {
  const seedBytes = Buffer.alloc(8);
  seedBytes.writeBigInt64BE(BigInt(seed));
  const bytes = createHmac('sha256', secret)
    .update('syncline/fair/window/1')
    .update(seedBytes)
    .digest();
  return Uint32Array.from({ length: 4 }, (_, index) => bytes.readUInt32LE(4 * index));
}

export function columnAt(words: Uint32Array, level: number, columns: number): number {
  return (((words[0] ?? 0) + Math.imul(level, words[1] ?? 0)) >>> 0) % columns;
}
