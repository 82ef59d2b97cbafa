// The first symbols of a set, kept up to date while items are added and removed.
//
// An item touches some 2·ln(symbols/2) symbols: 18 of 16,384. A sketch does not keep its items, so its memory,
// 24 bytes per symbol, does not depend on the set. It is linear: subtracting the sketch of another set leaves
// the symbols of the difference, which decode like any others.
//
// R4  A sketch depends only on the items in it: not on their order, nor on items that were added and removed.
// R5  Subtracting a sketch removes all its items; a copy and its original are independent.
// R6  Symbols do not depend on the size: those of a smaller sketch and of an Encoder are a prefix.
import { type RibltKey, ribltHash } from './item-hash.js';
import { firstS0, firstS1, nextS0, nextS1, SYMBOL_INDEX_END } from './mapping.js';
import { SYMBOL_WORDS, SymbolBlock, subtractSymbols } from './symbol-block.js';

/** Constants of this module are folded into the loop below, imported ones are not: a tenth of its time. */
const WORDS = SYMBOL_WORDS;

export class Sketch {
  readonly #key: RibltKey;
  readonly #words: Int32Array;
  readonly #symbolsCount: number;
  readonly #item = new Int32Array(3);
  readonly #hash = new Int32Array(2);

  /** Both sides of a reconciliation need the same key, and at least as many symbols as they exchange. */
  constructor(symbols: number, key: RibltKey) {
    if (!Number.isInteger(symbols) || symbols < 1 || symbols > SYMBOL_INDEX_END) {
      throw new RangeError(`a sketch of ${symbols} symbols; expected 1 to ${SYMBOL_INDEX_END}`);
    }
    this.#key = { k0: key.k0 | 0, k1: key.k1 | 0 };
    this.#words = new Int32Array(symbols * SYMBOL_WORDS);
    this.#symbolsCount = symbols;
  }

  get symbolsCount(): number {
    return this.#symbolsCount;
  }

  /** Items in the sketch. Negative if more were removed than added. */
  get itemsCount(): number {
    return this.#words[5] as number;
  }

  /**
   * Adds an item, which must not be in the set yet: two equal items cancel out in the sums but not in the
   * counts, and such a sketch never decodes. Words may be signed or unsigned.
   */
  add(w0: number, w1: number, w2: number): void {
    this.#toggle(w0 | 0, w1 | 0, w2 | 0, 1);
  }

  /** Removes an item that is in the set. */
  remove(w0: number, w1: number, w2: number): void {
    this.#toggle(w0 | 0, w1 | 0, w2 | 0, -1);
  }

  /** Removes all items of the other sketch, which has the same key and size. */
  subtract(other: Sketch): this {
    const words = this.#words;
    const others = other.#words;
    if (
      others.length !== words.length ||
      other.#key.k0 !== this.#key.k0 ||
      other.#key.k1 !== this.#key.k1
    ) {
      throw new RangeError('sketches of different sizes or keys cannot be subtracted');
    }
    subtractSymbols(words, others);
    return this;
  }

  copy(): Sketch {
    const copy = new Sketch(this.#symbolsCount, this.#key);
    copy.#words.set(this.#words);
    return copy;
  }

  /** The symbols [from, to) as they are now; all of them by default. */
  block(from = 0, to = this.#symbolsCount): SymbolBlock {
    if (
      !Number.isInteger(from) ||
      !Number.isInteger(to) ||
      from < 0 ||
      from >= to ||
      to > this.#symbolsCount
    ) {
      throw new RangeError(
        `no block [${from}, ${to}) in a sketch of ${this.#symbolsCount} symbols`,
      );
    }
    const words = this.#words.slice(from * SYMBOL_WORDS, to * SYMBOL_WORDS);
    return new SymbolBlock(from, this.itemsCount, words);
  }

  #toggle(w0: number, w1: number, w2: number, sign: 1 | -1): void {
    const item = this.#item;
    item[0] = w0;
    item[1] = w1;
    item[2] = w2;
    ribltHash(this.#key, item, this.#hash);
    const h0 = this.#hash[0] as number;
    const h1 = this.#hash[1] as number;
    const words = this.#words;
    const end = this.#symbolsCount;
    let s0 = firstS0(h0);
    let s1 = firstS1(h1);
    for (let index = 0; ; ) {
      const at = index * WORDS;
      words[at] = (words[at] as number) ^ w0;
      words[at + 1] = (words[at + 1] as number) ^ w1;
      words[at + 2] = (words[at + 2] as number) ^ w2;
      words[at + 3] = (words[at + 3] as number) ^ h0;
      words[at + 4] = (words[at + 4] as number) ^ h1;
      words[at + 5] = (words[at + 5] as number) + sign;
      // This is nextIndex() written out: as a call, adding takes a fifth longer, inlined or not.
      const random = Math.imul(s0, 0x9e3779bb) >>> 0;
      const gap = (index + 1.5) * (65_536 / Math.sqrt(random + 1) - 1);
      if (gap >= end - index) return;
      const floor = gap | 0;
      index += floor < gap ? floor + 1 : floor === 0 ? 1 : floor;
      if (index >= end) return;
      const before = s0;
      s0 = nextS0(s0, s1);
      s1 = nextS1(before, s1);
    }
  }
}
