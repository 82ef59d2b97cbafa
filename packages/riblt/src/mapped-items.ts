// Items, and the position of each in its sequence of symbols.
//
// An encoder keeps its whole set here, and a decoder what it has found so far; both add these items to symbols that
// come later. Each time all items are visited in order, which reads memory sequentially: lists or a heap by next
// symbol would visit fewer, but at a cache miss each, and were six times slower. So callers extend their symbols in
// steps that grow with the number of symbols, not one by one.
import { nextIndex, nextS0, nextS1 } from './mapping.js';
import { SYMBOL_WORDS } from './symbol-block.js';

/** Words of an item: w0 w1 w2, its hash h0 h1, and the state s0 s1 of its mapping. */
export const ITEM_WORDS = 7;

const ITEMS_MIN = 16;

export class MappedItems {
  readonly #sign: 1 | -1;
  #count = 0;
  #words = new Int32Array(ITEMS_MIN * ITEM_WORDS);
  /** Per item the first symbol that it is still to be added to. Apart, since it is all that most visits read. */
  #nexts = new Int32Array(ITEMS_MIN);

  /** `sign` is what an item adds to the count of a symbol. */
  constructor(sign: 1 | -1) {
    this.#sign = sign;
  }

  get count(): number {
    return this.#count;
  }

  /** Copies an item of ITEM_WORDS, to be added to the symbol `next` and those that its state gives after it. */
  add(item: Int32Array, next: number): void {
    if (this.#count === this.#nexts.length) this.#grow();
    const at = this.#count * ITEM_WORDS;
    for (let word = 0; word < ITEM_WORDS; word += 1) this.#words[at + word] = item[word] as number;
    this.#nexts[this.#count] = next;
    this.#count += 1;
  }

  /** Adds all items to `symbols`, of which the first has the index `from`: the one after those of the last call. */
  applyTo(symbols: Int32Array, from: number): void {
    const to = from + symbols.length / SYMBOL_WORDS;
    const nexts = this.#nexts;
    for (let item = 0; item < this.#count; item += 1) {
      const next = nexts[item] as number;
      if (next < to) nexts[item] = this.#applyItem(item, symbols, from);
    }
  }

  /** Three words per item, in the order in which they were added. */
  toWords(): Uint32Array {
    const words = new Uint32Array(this.#count * 3);
    for (let item = 0; item < this.#count; item += 1) {
      for (let word = 0; word < 3; word += 1) {
        words[item * 3 + word] = this.#words[item * ITEM_WORDS + word] as number;
      }
    }
    return words;
  }

  /** Returns the first symbol after these that the item is to be added to. */
  #applyItem(item: number, symbols: Int32Array, from: number): number {
    const words = this.#words;
    const sign = this.#sign;
    const to = from + symbols.length / SYMBOL_WORDS;
    const start = item * ITEM_WORDS;
    const w0 = words[start] as number;
    const w1 = words[start + 1] as number;
    const w2 = words[start + 2] as number;
    const h0 = words[start + 3] as number;
    const h1 = words[start + 4] as number;
    let s0 = words[start + 5] as number;
    let s1 = words[start + 6] as number;
    let index = this.#nexts[item] as number;
    while (index < to) {
      const at = (index - from) * SYMBOL_WORDS;
      symbols[at] = (symbols[at] as number) ^ w0;
      symbols[at + 1] = (symbols[at + 1] as number) ^ w1;
      symbols[at + 2] = (symbols[at + 2] as number) ^ w2;
      symbols[at + 3] = (symbols[at + 3] as number) ^ h0;
      symbols[at + 4] = (symbols[at + 4] as number) ^ h1;
      symbols[at + 5] = (symbols[at + 5] as number) + sign;
      index = nextIndex(index, s0);
      const before = s0;
      s0 = nextS0(s0, s1);
      s1 = nextS1(before, s1);
    }
    words[start + 5] = s0;
    words[start + 6] = s1;
    return index;
  }

  #grow(): void {
    const words = new Int32Array(this.#words.length * 2);
    words.set(this.#words);
    this.#words = words;
    const nexts = new Int32Array(this.#nexts.length * 2);
    nexts.set(this.#nexts);
    this.#nexts = nexts;
  }
}
