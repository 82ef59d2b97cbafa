// A set of cells of one seed, one bit per cell: which cells a round must send, and which a slow stream
// has missed. It holds no values, so a stream that never reads again costs one bit per cell.
//
// F9  A stream that is behind holds at most one mark per live cell.

const WORD_BITS = 32;

export class CellMarks {
  #words: Uint32Array;
  #count = 0;
  /** Bounds of the words that may hold a mark: a round of few cells must not scan all of them. */
  #wordLow = Number.POSITIVE_INFINITY;
  #wordHigh = -1;

  constructor(slotsCount = 0) {
    this.#words = new Uint32Array(Math.ceil(slotsCount / WORD_BITS));
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  has(slot: number): boolean {
    return (((this.#words[slot >>> 5] ?? 0) >>> (slot & 31)) & 1) === 1;
  }

  /** False: it was marked before. */
  add(slot: number): boolean {
    const word = slot >>> 5;
    if (word >= this.#words.length) this.#grow(word + 1);
    const before = this.#words[word] ?? 0;
    const after = before | (1 << (slot & 31));
    this.#words[word] = after;
    if (word < this.#wordLow) this.#wordLow = word;
    if (word > this.#wordHigh) this.#wordHigh = word;
    const isNew = before !== after >>> 0;
    if (isNew) this.#count += 1;
    return isNew;
  }

  delete(slot: number): void {
    if (!this.has(slot)) return;
    const word = slot >>> 5;
    this.#words[word] = (this.#words[word] ?? 0) & ~(1 << (slot & 31));
    this.#count -= 1;
  }

  /** Marks all of the other too; returns how many were marked before. */
  addAll(other: CellMarks): number {
    let already = 0;
    for (let slot = other.next(0); slot !== -1; slot = other.next(slot + 1)) {
      if (!this.add(slot)) already += 1;
    }
    return already;
  }

  /** The first marked slot from `from` on; -1 if there is none. */
  next(from: number): number {
    const first = from >>> 5;
    let word = Math.max(first, this.#wordLow);
    if (word > this.#wordHigh) return -1;
    let bits = this.#words[word] ?? 0;
    if (word === first) bits &= -1 << (from & 31);
    while (bits === 0) {
      word += 1;
      if (word > this.#wordHigh) return -1;
      bits = this.#words[word] ?? 0;
    }
    return word * WORD_BITS + (31 - Math.clz32(bits & -bits));
  }

  clear(): void {
    if (this.#wordHigh >= 0) this.#words.fill(0, this.#wordLow, this.#wordHigh + 1);
    this.#wordLow = Number.POSITIVE_INFINITY;
    this.#wordHigh = -1;
    this.#count = 0;
  }

  #grow(wordsMin: number): void {
    const grown = new Uint32Array(Math.max(wordsMin, this.#words.length * 2, 8));
    grown.set(this.#words);
    this.#words = grown;
  }
}
