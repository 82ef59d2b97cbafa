// What all live dots add up to: their number, and the xor of their hashes.
//
// The order of changes does not matter, and taking a dot out undoes putting it in. Two nodes with equal
// version vectors and unequal digests have a bug or a damaged disk.
//
// S1  Equal version vectors mean equal live dots.
import { assert } from '@syncline/kernel';
import { type RibltKey, ribltHash } from '@syncline/riblt';

export interface DigestStart {
  readonly liveDots: number;
  readonly xor: readonly [number, number];
}

export class LiveDigest {
  readonly #key: RibltKey;
  readonly #item = new Int32Array(3);
  readonly #hash = new Uint32Array(2);
  #liveDots: number;
  #xor0: number;
  #xor1: number;

  constructor(key: RibltKey, start: DigestStart) {
    this.#key = key;
    this.#liveDots = start.liveDots;
    this.#xor0 = start.xor[0] | 0;
    this.#xor1 = start.xor[1] | 0;
  }

  get liveDots(): number {
    return this.#liveDots;
  }

  /** Two words, unsigned. */
  get xor(): readonly [number, number] {
    return [this.#xor0 >>> 0, this.#xor1 >>> 0];
  }

  /** Words may be signed, as rows hold them. */
  add(actor: number, high: number, low: number): void {
    this.#liveDots += 1;
    this.#flip(actor, high, low);
  }

  drop(actor: number, high: number, low: number): void {
    this.#liveDots -= 1;
    assert(this.#liveDots >= 0, 'S1: a dot that is dropped was live');
    this.#flip(actor, high, low);
  }

  #flip(actor: number, high: number, low: number): void {
    this.#item[0] = actor;
    this.#item[1] = high;
    this.#item[2] = low;
    ribltHash(this.#key, this.#item, this.#hash);
    this.#xor0 ^= this.#hash[0] as number;
    this.#xor1 ^= this.#hash[1] as number;
  }
}
