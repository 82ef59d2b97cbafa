// A part of the head: the elements that some commits in a row have changed, each with its dots before.
//
// It ends where a commit ends, so folding it gives the sets as they were after that commit. Once a later
// generation changes one of its elements, the entry keeps the dots that the element had in between.
// Until then they are those of the row. Entries are words in one array: at most 2^20 of them.
import { assert, type VersionVector } from '@syncline/kernel';
import { ROW_ACTOR, ROW_COUNTER_HIGH, ROW_COUNTER_LOW } from '../memory/row-layout.js';
import type { FoldRecord } from './fold-record.js';
import type { MemorySet } from './memory-set.js';

/** Bits of a head word that number the entry; those above number the generation. */
export const ENTRY_BITS = 20;
export const GENERATIONS_MAX = 2 ** (32 - ENTRY_BITS) - 1;
const ENTRIES_MAX = 2 ** ENTRY_BITS;
const ENTRIES_FIRST = 256;

// The words of an entry.
const SLOT = 0;
const ROW = 1;
/** The head word that the row had before: its entry in an older generation. */
const OLDER = 2;
const BEFORE = 3;
const AFTER = 6;
const WORDS = 9;
/** In the place of the actor: the row has the dots. Node 0 does not exist. */
const IN_ROW = 2;

/** What all sets add up to at the end of a generation. */
export interface GenerationEnd {
  readonly fold: FoldRecord;
  readonly version: VersionVector;
}

/** How far a generation was at some moment. */
export interface GenerationLength {
  readonly entries: number;
  readonly sets: number;
}

interface RecordEnd extends GenerationLength {
  readonly bytes: number;
}

export class Generation {
  /** Rises from one generation to the next. */
  readonly serial: number;
  /** Its number in head words, 1 to GENERATIONS_MAX. Used again by a later one. */
  readonly id: number;
  /** The commit that it begins with. */
  readonly firstNumber: number;
  /** Sets whose cardinality may have changed. A set may be there twice. */
  readonly sets: MemorySet[] = [];
  /** Cardinality of each of `sets` at the end. */
  cardinalities: readonly number[] = [];
  /** Undefined while it still takes changes. */
  end: GenerationEnd | undefined = undefined;
  /** Bytes of its journal records. */
  bytes = 0;
  readonly #records: RecordEnd[] = [];
  #nameBytesMax = 0;
  #words = new Int32Array(ENTRIES_FIRST * WORDS);
  #length = 0;

  constructor(serial: number, firstNumber: number) {
    this.serial = serial;
    this.id = ((serial - 1) % GENERATIONS_MAX) + 1;
    this.firstNumber = firstNumber;
  }

  get length(): number {
    return this.#length;
  }

  /** At most about so much is written when it is folded: set and member, with the element and with its dot. */
  get foldBytes(): number {
    return 2 * (this.bytes + this.#length * this.#nameBytesMax);
  }

  /** The last commit that is wholly in it; below `firstNumber` when there is none. */
  get lastNumber(): number {
    return this.firstNumber + this.#records.length - 1;
  }

  /** Its cardinality will be stored with this generation. */
  addSet(set: MemorySet): void {
    this.sets.push(set);
    set.listedIn = this.serial;
    this.#nameBytesMax = Math.max(this.#nameBytesMax, set.name.length);
  }

  /** Adds a row as it is now; gives the head word that leads to the entry. */
  push(set: MemorySet, row: number, page: Int32Array, start: number): number {
    const place = this.#length;
    if ((place + 1) * WORDS > this.#words.length) this.#grow();
    const words = this.#words;
    const at = place * WORDS;
    words[at + SLOT] = set.slot;
    words[at + ROW] = row;
    words[at + BEFORE] = page[start + ROW_ACTOR] as number;
    words[at + BEFORE + 1] = page[start + ROW_COUNTER_HIGH] as number;
    words[at + BEFORE + 2] = page[start + ROW_COUNTER_LOW] as number;
    words[at + AFTER] = IN_ROW;
    this.#length = place + 1;
    return (this.id << ENTRY_BITS) | place;
  }

  linkOlder(place: number, headWord: number): void {
    this.#words[place * WORDS + OLDER] = headWord;
  }

  /** The row is about to change in a later generation. */
  keepAfter(place: number, page: Int32Array, start: number): void {
    const at = place * WORDS + AFTER;
    this.#words[at] = page[start + ROW_ACTOR] as number;
    this.#words[at + 1] = page[start + ROW_COUNTER_HIGH] as number;
    this.#words[at + 2] = page[start + ROW_COUNTER_LOW] as number;
  }

  /** The later change was taken back: the row has the dots again. */
  forgetAfter(place: number): void {
    this.#words[place * WORDS + AFTER] = IN_ROW;
  }

  slot(place: number): number {
    return this.#words[place * WORDS + SLOT] as number;
  }

  row(place: number): number {
    return this.#words[place * WORDS + ROW] as number;
  }

  older(place: number): number {
    return this.#words[place * WORDS + OLDER] as number;
  }

  hasAfter(place: number): boolean {
    return this.#words[place * WORDS + AFTER] !== IN_ROW;
  }

  /** One of the three words of the dots before; `word` is 0 to 2. */
  before(place: number, word: number): number {
    return this.#words[place * WORDS + BEFORE + word] as number;
  }

  /** One of the three words of the dots after, if they are kept here. */
  after(place: number, word: number): number {
    return this.#words[place * WORDS + AFTER + word] as number;
  }

  /** The commit with the next number ends here. */
  closeRecord(bytes: number): void {
    this.#records.push({ entries: this.#length, sets: this.sets.length, bytes });
    this.bytes += bytes;
  }

  /** Forgets that commits from this number on were in it; gives how far it was before the first of them. */
  reopen(number: number): GenerationLength {
    this.end = undefined;
    this.cardinalities = [];
    this.#records.length = Math.max(0, number - this.firstNumber);
    this.bytes = this.#records.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.#records.at(-1) ?? { entries: 0, sets: 0 };
  }

  /** Forgets the entries that came since it was so far, and the sets that came with them. */
  truncate({ entries, sets }: GenerationLength): void {
    assert(entries <= this.#length && sets <= this.sets.length, 'what is forgotten was there');
    this.#words.fill(0, entries * WORDS, this.#length * WORDS);
    this.#length = entries;
    for (const set of this.sets.splice(sets)) set.listedIn = 0;
  }

  #grow(): void {
    assert(this.#length < ENTRIES_MAX, 'a generation has at most 2^20 entries');
    const words = new Int32Array(this.#words.length * 2);
    words.set(this.#words);
    this.#words = words;
  }
}
