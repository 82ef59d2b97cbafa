// The endless stream of symbols of a set: as many as the other side needs, from symbol 0.
//
// An encoder keeps its items, so it can continue forever. Where the number of symbols has a bound and the set is
// large, a Sketch needs less memory.
import { type RibltKey, ribltHash } from './item-hash.js';
import { ribltLimits } from './limits.js';
import { ITEM_WORDS, MappedItems } from './mapped-items.js';
import { firstS0, firstS1, SYMBOL_INDEX_END } from './mapping.js';
import { RibltError } from './riblt-error.js';
import { SYMBOL_WORDS, SymbolBlock } from './symbol-block.js';

/** At least 32 symbols are made at a time, and an eighth of those made before. */
const AHEAD_MIN = 32;
const AHEAD_SHIFT = 3;

export interface EncoderOptions {
  /** Items that `add` accepts before it throws `limit-exceeded`; 32 bytes of memory each. Default 2^24. */
  readonly itemsMax?: number;
}

export class Encoder {
  readonly #key: RibltKey;
  readonly #itemsMax: number;
  readonly #items = new MappedItems(1);
  readonly #item = new Int32Array(ITEM_WORDS);
  readonly #hash = this.#item.subarray(3, 5);
  #madeCount = 0;
  /** Symbols made but not taken yet. Making some visits all items, so it makes many, however few are wanted. */
  #ahead: Int32Array = new Int32Array(0);

  /** Both sides of a reconciliation need the same key. */
  constructor(
    key: RibltKey,
    { itemsMax = ribltLimits.encoderItemsMax.value }: EncoderOptions = {},
  ) {
    this.#key = { k0: key.k0 | 0, k1: key.k1 | 0 };
    this.#itemsMax = itemsMax;
  }

  get itemsCount(): number {
    return this.#items.count;
  }

  /** Symbols taken so far, which is the index of the next one. */
  get symbolsCount(): number {
    return this.#madeCount - this.#ahead.length / SYMBOL_WORDS;
  }

  /**
   * Adds an item, which must not be in the set yet: a set with the same item twice never decodes. The set
   * is complete once the first symbol is taken. Words may be signed or unsigned.
   */
  add(w0: number, w1: number, w2: number): void {
    if (this.#madeCount > 0) {
      throw new RangeError('an item came after the first symbol; start a new encoder');
    }
    if (this.#items.count >= this.#itemsMax) {
      throw new RibltError('limit-exceeded', `more than ${this.#itemsMax} items to encode`);
    }
    const item = this.#item;
    item[0] = w0;
    item[1] = w1;
    item[2] = w2;
    ribltHash(this.#key, item, this.#hash);
    item[5] = firstS0(item[3] as number);
    item[6] = firstS1(item[4] as number);
    this.#items.add(item, 0);
  }

  /** The next `count` symbols. */
  next(count: number): SymbolBlock {
    const from = this.symbolsCount;
    if (!Number.isInteger(count) || count < 1) {
      throw new RangeError(`a block of ${count} symbols; expected at least 1`);
    }
    if (count > SYMBOL_INDEX_END - from) {
      throw new RibltError('limit-exceeded', `more than ${SYMBOL_INDEX_END} symbols`);
    }
    const words = new Int32Array(count * SYMBOL_WORDS);
    for (let filled = 0; filled < words.length; ) {
      if (this.#ahead.length === 0) this.#ahead = this.#make(count - filled / SYMBOL_WORDS);
      const part = this.#ahead.subarray(0, words.length - filled);
      words.set(part, filled);
      filled += part.length;
      this.#ahead = this.#ahead.subarray(part.length);
    }
    return new SymbolBlock(from, this.#items.count, words);
  }

  /** Makes at least `count` symbols. */
  #make(count: number): Int32Array {
    const from = this.#madeCount;
    const wanted = Math.max(count, AHEAD_MIN, from >> AHEAD_SHIFT);
    this.#madeCount = Math.min(from + wanted, SYMBOL_INDEX_END);
    const words = new Int32Array((this.#madeCount - from) * SYMBOL_WORDS);
    this.#items.applyTo(words, from);
    return words;
  }
}
