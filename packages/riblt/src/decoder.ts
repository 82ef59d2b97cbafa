// Finds how two sets differ from the symbols of both.
//
// Symbols of the remote set minus those of the local set are symbols of the difference: items only the remote side
// has count 1, items only this side has count -1, and what both have cancels out. A symbol with a single item left
// shows it: its count is 1 or -1 and the hash of its sum is its check. Peeling takes that item out of all symbols
// that it is part of, which may leave others with a single item. Since every item is part of symbol 0, nothing is
// left when symbol 0 is zero.
//
// The remote symbols may be damaged or hostile. In symbols of a real difference, an item is part of every symbol
// that its mapping names, so peeling never meets an empty one. Refusing that has three consequences: a symbol that
// gave an item stays empty, so there are at most as many items as symbols; no item is found twice, since the
// symbol that gave it is empty; and no sequence of symbols makes peeling go round in circles.
//
// R10  The items handed out are exactly the difference that explains every symbol received; else there are none.
// R11  At most itemsMax items and symbolsMax symbols, no item twice, no more items than symbols.
import { type RibltKey, ribltHash } from './item-hash.js';
import { ribltLimits } from './limits.js';
import { ITEM_WORDS, MappedItems } from './mapped-items.js';
import { firstS0, firstS1, nextIndex, nextS0, nextS1, SYMBOL_INDEX_END } from './mapping.js';
import { RibltError } from './riblt-error.js';
import { SYMBOL_WORDS, type SymbolBlock } from './symbol-block.js';

const SYMBOLS_MIN = 64;

export interface DecoderOptions {
  /** Differences found before `push` throws `limit-exceeded`; 32 bytes of memory each. Default 2^20. */
  readonly itemsMax?: number;
  /** Symbols pushed before `push` throws `limit-exceeded`; 29 bytes of memory each. Default 2^21. */
  readonly symbolsMax?: number;
}

export class Decoder {
  readonly #key: RibltKey;
  readonly #itemsMax: number;
  readonly #symbolsMax: number;
  /**
   * The remaining difference: #symbolsCount symbols, then up to #capacity those that have not arrived. All
   * items found are removed from both, so that a block costs the same however short it is.
   */
  #words = new Int32Array(0);
  #symbolsCount = 0;
  #capacity = 0;
  /** Symbols that may have a single item. None is in it twice, so it has room for all. */
  #candidates = new Int32Array(0);
  #candidatesCount = 0;
  #isCandidate = new Uint8Array(0);
  /** Taking an item out of a symbol reverses what it added. */
  readonly #onlyRemote = new MappedItems(-1);
  readonly #onlyLocal = new MappedItems(1);
  readonly #item = new Int32Array(ITEM_WORDS);
  readonly #hash = new Int32Array(2);
  #remoteItemsCount = 0;
  #localItemsCount = 0;
  #state: 'more' | 'done' | RibltError = 'more';

  /** Both sides of a reconciliation need the same key. */
  constructor(key: RibltKey, options: DecoderOptions = {}) {
    const { decoderItemsMax, decoderSymbolsMax } = ribltLimits;
    this.#key = { k0: key.k0 | 0, k1: key.k1 | 0 };
    this.#itemsMax = options.itemsMax ?? decoderItemsMax.value;
    const symbolsMax = options.symbolsMax ?? decoderSymbolsMax.value;
    this.#symbolsMax = Math.min(symbolsMax, SYMBOL_INDEX_END);
  }

  /** Symbols pushed so far, which is the index of the next one. */
  get symbolsCount(): number {
    return this.#symbolsCount;
  }

  /**
   * Takes the next symbols of both sets: two blocks of the same indexes, the first from symbol 0. Returns 'done'
   * when the difference is known; further blocks are then ignored. Throws a RibltError if the remote symbols
   * describe no set or too large a difference, and again on every later call.
   */
  push(remote: SymbolBlock, local: SymbolBlock): 'more' | 'done' {
    if (this.#state instanceof RibltError) throw this.#state;
    if (this.#state === 'done') return 'done';
    if (local.from !== remote.from || local.length !== remote.length) {
      throw new RangeError(
        `the blocks differ: remote [${remote.from}, ${remote.from + remote.length}), local [${local.from}, ${local.from + local.length})`,
      );
    }
    try {
      this.#receive(remote, local);
      this.#peelAll();
      if (this.#isEmpty(0)) this.#finish();
    } catch (thrown) {
      if (thrown instanceof RibltError) this.#state = thrown;
      throw thrown;
    }
    return this.#state;
  }

  /** Items that only the remote set has, three words each. Available when `push` has returned 'done'. */
  onlyRemote(): Uint32Array {
    this.#requireDone();
    return this.#onlyRemote.toWords();
  }

  /** Items that only the local set has, three words each. Available when `push` has returned 'done'. */
  onlyLocal(): Uint32Array {
    this.#requireDone();
    return this.#onlyLocal.toWords();
  }

  #requireDone(): void {
    if (this.#state !== 'done') throw new RangeError('the difference is not decoded yet');
  }

  /** Appends the difference of two blocks, without the items found so far. */
  #receive(remote: SymbolBlock, local: SymbolBlock): void {
    const from = this.#symbolsCount;
    const to = from + remote.length;
    if (remote.from !== from) {
      throw new RibltError('corrupt', `expected symbol ${from}, received symbol ${remote.from}`);
    }
    if (to > this.#symbolsMax) {
      throw new RibltError(
        'limit-exceeded',
        `the sets are not reconciled after ${from} of at most ${this.#symbolsMax} symbols`,
      );
    }
    this.#checkItemsCounts(remote, local);
    if (to > this.#capacity) this.#extend(to);
    const words = this.#words;
    const remoteWords = remote.words;
    const localWords = local.words;
    this.#symbolsCount = to;
    for (let index = from; index < to; index += 1) {
      const at = index * SYMBOL_WORDS;
      const block = (index - from) * SYMBOL_WORDS;
      for (let word = 0; word < 5; word += 1) {
        const difference =
          (remoteWords[block + word] as number) ^ (localWords[block + word] as number);
        words[at + word] = (words[at + word] as number) ^ difference;
      }
      const difference = (remoteWords[block + 5] as number) - (localWords[block + 5] as number);
      const count = (words[at + 5] as number) + difference;
      words[at + 5] = count;
      if (count === 1 || count === -1) this.#consider(index);
    }
  }

  /** Both sets must stay as they are while their symbols are exchanged. */
  #checkItemsCounts(remote: SymbolBlock, local: SymbolBlock): void {
    if (this.#symbolsCount === 0) {
      this.#remoteItemsCount = remote.itemsCount;
      this.#localItemsCount = local.itemsCount;
    }
    if (local.itemsCount !== this.#localItemsCount) {
      throw new RangeError('the local set changed between two blocks');
    }
    if (remote.itemsCount !== this.#remoteItemsCount) {
      throw new RibltError(
        'corrupt',
        `the remote set changed from ${this.#remoteItemsCount} to ${remote.itemsCount} items between two blocks`,
      );
    }
  }

  /** Makes room for more symbols, and removes the items found so far from them in advance. */
  #extend(symbolsCount: number): void {
    const from = this.#capacity;
    const wanted = Math.max(symbolsCount, from * 2, SYMBOLS_MIN);
    const to = Math.min(wanted, this.#symbolsMax);
    const words = new Int32Array(to * SYMBOL_WORDS);
    words.set(this.#words);
    this.#onlyRemote.applyTo(words.subarray(from * SYMBOL_WORDS), from);
    this.#onlyLocal.applyTo(words.subarray(from * SYMBOL_WORDS), from);
    this.#words = words;
    this.#candidates = new Int32Array(to);
    this.#isCandidate = new Uint8Array(to);
    this.#capacity = to;
  }

  /** Remembers a symbol that may have a single item. */
  #consider(index: number): void {
    if (this.#isCandidate[index] === 1) return;
    this.#isCandidate[index] = 1;
    this.#candidates[this.#candidatesCount] = index;
    this.#candidatesCount += 1;
  }

  #peelAll(): void {
    while (this.#candidatesCount > 0) {
      this.#candidatesCount -= 1;
      const index = this.#candidates[this.#candidatesCount] as number;
      this.#isCandidate[index] = 0;
      if (this.#takeItem(index)) this.#peel(index);
    }
  }

  /** Reads the item of a symbol, if it has a single one. */
  #takeItem(index: number): boolean {
    const words = this.#words;
    const at = index * SYMBOL_WORDS;
    const count = words[at + 5] as number;
    if (count !== 1 && count !== -1) return false;
    const item = this.#item;
    for (let word = 0; word < 5; word += 1) item[word] = words[at + word] as number;
    ribltHash(this.#key, item, this.#hash);
    return this.#hash[0] === item[3] && this.#hash[1] === item[4];
  }

  /** Takes the item of symbol `source` out of all symbols that it is part of. */
  #peel(source: number): void {
    const words = this.#words;
    const item = this.#item;
    const w0 = item[0] as number;
    const w1 = item[1] as number;
    const w2 = item[2] as number;
    const h0 = item[3] as number;
    const h1 = item[4] as number;
    const count = words[source * SYMBOL_WORDS + 5] as number;
    let index = 0;
    let s0 = firstS0(h0);
    let s1 = firstS1(h1);
    const arrived = this.#symbolsCount;
    const end = this.#capacity;
    while (index < end) {
      const at = index * SYMBOL_WORDS;
      const c0 = words[at + 3] as number;
      const c1 = words[at + 4] as number;
      if (index < arrived && (c0 | c1) === 0 && this.#isEmpty(index)) {
        throw new RibltError('corrupt', `symbol ${index} lacks an item that others have`);
      }
      const left = (words[at + 5] as number) - count;
      words[at] = (words[at] as number) ^ w0;
      words[at + 1] = (words[at + 1] as number) ^ w1;
      words[at + 2] = (words[at + 2] as number) ^ w2;
      words[at + 3] = c0 ^ h0;
      words[at + 4] = c1 ^ h1;
      words[at + 5] = left;
      if (index < arrived && (left === 1 || left === -1)) this.#consider(index);
      index = nextIndex(index, s0);
      const before = s0;
      s0 = nextS0(s0, s1);
      s1 = nextS1(before, s1);
    }
    if (!this.#isEmpty(source)) {
      throw new RibltError('corrupt', `symbol ${source} has an item that does not belong there`);
    }
    item[5] = s0;
    item[6] = s1;
    this.#keepItem(count === 1 ? this.#onlyRemote : this.#onlyLocal, index);
  }

  #keepItem(items: MappedItems, next: number): void {
    if (this.#onlyRemote.count + this.#onlyLocal.count >= this.#itemsMax) {
      throw new RibltError(
        'limit-exceeded',
        `the sets differ in more than ${this.#itemsMax} items`,
      );
    }
    items.add(this.#item, next);
  }

  #isEmpty(index: number): boolean {
    const at = index * SYMBOL_WORDS;
    for (let word = at; word < at + SYMBOL_WORDS; word += 1) {
      if (this.#words[word] !== 0) return false;
    }
    return true;
  }

  /** With all items found, every symbol is empty. Damaged ones are not. */
  #finish(): void {
    for (let index = 0; index < this.#symbolsCount; index += 1) {
      if (this.#isEmpty(index)) continue;
      throw new RibltError(
        'corrupt',
        `symbol ${index} does not fit the difference that others give`,
      );
    }
    this.#state = 'done';
  }
}
