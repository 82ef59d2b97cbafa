// A digest of all live dots: their number, and the xor of their hashes.
//
// The order of changes does not matter, and removing a dot undoes adding it. Two nodes with equal version
// vectors and unequal digests have a bug or a damaged disk.
//
// S1  Equal version vectors mean equal live dots.
import { assert, type Dot } from '@syncline/kernel';
import { type RibltKey, ribltHash } from '@syncline/riblt';

export class LiveDigest {
  readonly #key: RibltKey;
  readonly #item = new Int32Array(3);
  readonly #hash = new Uint32Array(2);
  liveDots = 0;
  #xor0 = 0;
  #xor1 = 0;

  constructor(key: RibltKey) {
    this.#key = key;
  }

  get xor(): readonly [number, number] {
    return [this.#xor0 >>> 0, this.#xor1 >>> 0];
  }

  add(actor: number, high: number, low: number): void {
    this.liveDots += 1;
    this.#flip(actor, high, low);
  }

  drop(actor: number, high: number, low: number): void {
    this.liveDots -= 1;
    assert(this.liveDots >= 0, 'S1: a dot that is dropped was live');
    this.#flip(actor, high, low);
  }

  addDot({ actor, counter }: Dot): void {
    this.add(actor, Math.floor(counter / 2 ** 32), counter | 0);
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
