// A random source that repeats itself: equal seeds give equal numbers. xoshiro128** (Blackman and
// Vigna), 128 bits of state, seeded through a hash so that similar seeds give unrelated streams.
//
// A simulation gives each subsystem its own fork, so that one more draw in one of them leaves the
// others as they were. A fork depends on the seed and the names on its path, never on what was
// drawn.
import type { Random } from './random.js';

export interface SeededRandom extends Random {
  /** An independent stream. The same name gives the same stream again. */
  fork(name: string): SeededRandom;
}

export function createSeededRandom(seed: number | string): SeededRandom {
  return new Xoshiro128(String(seed));
}

class Xoshiro128 implements SeededRandom {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: string) {
    this.#seed = seed;
    [this.#a, this.#b, this.#c, this.#d] = hashText(seed);
    this.#d |= 1; // a state of zeros would stay zero forever
    for (let warmUp = 0; warmUp < 8; warmUp += 1) this.u32();
  }

  u32(): number {
    const product = Math.imul(this.#b, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  float(): number {
    const high = this.u32() >>> 5;
    const low = this.u32() >>> 6;
    return (high * 2 ** 26 + low) / 2 ** 53;
  }

  bytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    for (let offset = 0; offset < count; offset += 4) {
      const word = this.u32();
      const end = Math.min(offset + 4, count);
      for (let index = offset; index < end; index += 1)
        bytes[index] = word >>> (8 * (index - offset));
    }
    return bytes;
  }

  fork(name: string): SeededRandom {
    return new Xoshiro128(`${this.#seed}/${name}`);
  }
}

/** 128 bits of hash: each lane mixes in every character and then its neighbor. */
function hashText(text: string): readonly [number, number, number, number] {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = 0xb7e15162;
  let d = 0x6a09e667;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x2c1b3c6d) + d;
    b = Math.imul(b ^ unit, 0x297a2d39) ^ (a >>> 15);
    c = Math.imul(c ^ unit, 0x1b56c4e9) + b;
    d = Math.imul(d ^ unit, 0x38b34ae5) ^ (c >>> 15);
  }
  const length = text.length;
  return [finalMix(a ^ length), finalMix(b + a), finalMix(c + b), finalMix(d + c)];
}

/** Spreads each bit of `word` over the whole result. */
function finalMix(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
