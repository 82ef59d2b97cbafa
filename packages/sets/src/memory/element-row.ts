// The words of one element: where each lies in its row, the bytes of its member, and its dots.
//
// A row is a block of the heap: ROW_HEADER_WORDS words, then the member. Its number stays the same until
// it is freed; 0 means "no row". The functions are small so that the compiler inlines them.
//
// A row starts on a word and the last word of its member is padded with zeros, so members are written and
// compared word by word. Words are little-endian, as on every machine we support.
//
// An element usually has one dot. Two nodes that add the same member concurrently create two, and both
// are kept until someone who has seen them removes the member or adds it again. Several dots are rare, so
// they are kept in a list outside the row. Actors of node 0 do not exist, so actor numbers below 65,536
// are free to have another meaning.
import { type ActorId, assert, compareDots, type Dot, dot } from '@syncline/kernel';
import { type ElementHeap, wordOf } from './element-heap.js';

/** The upper 32 bits of the member's position. */
export const ROW_HASH_HIGH = 0;
/** The lower 16 bits of the member's position. */
export const ROW_HASH_LOW = 1;
export const ROW_MEMBER_BYTES = 2;
/** Index of its latest entry in the undo log; only valid during the running operation. */
export const ROW_TOUCH = 3;
/** The actor of its dot, or NO_DOT, or SEVERAL_DOTS. */
export const ROW_ACTOR = 4;
/** The counter of its dot, as two words. With SEVERAL_DOTS the low word is the index of the list. */
export const ROW_COUNTER_HIGH = 5;
export const ROW_COUNTER_LOW = 6;
/** The member starts here. */
export const ROW_HEADER_WORDS = 7;

/** In place of an actor: the element has no dot, so it is absent. */
export const NO_DOT = 0;
/** In place of an actor: the element has several dots, kept in a list. */
export const SEVERAL_DOTS = 1;

export function readWord(heap: ElementHeap, row: number, word: number): number {
  const words = heap.words[row >>> 16] as Int32Array;
  return words[wordOf(row) + word] as number;
}

export function writeWord(heap: ElementHeap, row: number, word: number, value: number): void {
  const words = heap.words[row >>> 16] as Int32Array;
  words[wordOf(row) + word] = value;
}

/** The buffer that holds the member, from `memberStart` to `memberEnd`. It stays valid until the row is freed. */
export function memberBuffer(heap: ElementHeap, row: number): Uint8Array {
  return heap.bytes[row >>> 16] as Uint8Array;
}

export function memberStart(row: number): number {
  return (wordOf(row) + ROW_HEADER_WORDS) * 4;
}

export function memberEnd(heap: ElementHeap, row: number): number {
  return memberStart(row) + readWord(heap, row, ROW_MEMBER_BYTES);
}

/** 48 bits: the place of the member in every scan. */
export function rowPosition(heap: ElementHeap, row: number): number {
  const high = readWord(heap, row, ROW_HASH_HIGH) >>> 0;
  return high * 0x1_0000 + readWord(heap, row, ROW_HASH_LOW);
}

/** By position, then by the bytes of the member: unsigned, a prefix before what it starts. */
export function compareRows(heap: ElementHeap, left: number, right: number): number {
  const byPosition = rowPosition(heap, left) - rowPosition(heap, right);
  return byPosition === 0
    ? Buffer.compare(memberOf(heap, left), memberOf(heap, right))
    : byPosition;
}

function memberOf(heap: ElementHeap, row: number): Uint8Array {
  return memberBuffer(heap, row).subarray(memberStart(row), memberEnd(heap, row));
}

/** Copies the member into its row. `at` is the word of the page where the row starts; its length is set. */
export function writeMember(words: Int32Array, at: number, view: DataView, start: number): void {
  const length = words[at + ROW_MEMBER_BYTES] as number;
  const wholeEnd = start + length - (length & 3);
  let word = at + ROW_HEADER_WORDS;
  for (let position = start; position < wholeEnd; position += 4) {
    words[word] = view.getInt32(position, true);
    word += 1;
  }
  if (wholeEnd < start + length) words[word] = lastWord(view, wholeEnd, start + length);
}

/** Compares the member with as many bytes of the view. */
export function isMemberEqual(
  words: Int32Array,
  at: number,
  view: DataView,
  start: number,
): boolean {
  const length = words[at + ROW_MEMBER_BYTES] as number;
  const wholeEnd = start + length - (length & 3);
  let word = at + ROW_HEADER_WORDS;
  for (let position = start; position < wholeEnd; position += 4) {
    if (words[word] !== view.getInt32(position, true)) return false;
    word += 1;
  }
  return wholeEnd === start + length || words[word] === lastWord(view, wholeEnd, start + length);
}

/** The last 1 to 3 bytes. */
function lastWord(view: DataView, start: number, end: number): number {
  let word = view.getUint8(start);
  if (start + 1 < end) word |= view.getUint8(start + 1) << 8;
  if (start + 2 < end) word |= view.getUint8(start + 2) << 16;
  return word;
}

/** ROW_ACTOR, ROW_COUNTER_HIGH and ROW_COUNTER_LOW of a row, or a copy of them. */
export interface DotWords {
  actor: number;
  high: number;
  low: number;
}

export function readDots(page: Int32Array, start: number, into: DotWords): void {
  into.actor = page[start + ROW_ACTOR] as number;
  into.high = page[start + ROW_COUNTER_HIGH] as number;
  into.low = page[start + ROW_COUNTER_LOW] as number;
}

/** The lists of elements that have several dots. The undo log copies words, so a list counts its holders. */
export class SeveralDots {
  readonly #lists: (readonly Dot[])[] = [];
  readonly #holders: number[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#lists.length - this.#free.length;
  }

  /** The dots that the words stand for, sorted. */
  read(words: DotWords): readonly Dot[] {
    if (words.actor === NO_DOT) return [];
    if (words.actor === SEVERAL_DOTS) return this.#lists[words.low] ?? [];
    return [dotOf(words.actor, words.high, words.low)];
  }

  /** Encodes the dots. If that creates a list, the caller that keeps the words is its first holder. */
  write(dots: readonly Dot[], into: DotWords): void {
    const [first] = dots;
    into.actor = NO_DOT;
    into.high = 0;
    into.low = 0;
    if (first === undefined) return;
    if (dots.length === 1) {
      into.actor = first.actor | 0;
      into.high = Math.floor(first.counter / 2 ** 32);
      into.low = first.counter | 0;
      return;
    }
    into.actor = SEVERAL_DOTS;
    into.low = this.#add(dots.toSorted(compareDots));
  }

  /** Records that another copy of the words is kept. */
  hold(actor: number, low: number): void {
    if (actor === SEVERAL_DOTS) this.#holders[low] = (this.#holders[low] ?? 0) + 1;
  }

  /** Records that a copy of the words was discarded. The list is freed with the last one. */
  release(actor: number, low: number): void {
    if (actor !== SEVERAL_DOTS) return;
    const holders = (this.#holders[low] ?? 0) - 1;
    assert(holders >= 0, 'a list of dots is not released more often than it was held');
    this.#holders[low] = holders;
    if (holders > 0) return;
    this.#lists[low] = [];
    this.#free.push(low);
  }

  #add(dots: readonly Dot[]): number {
    const index = this.#free.pop() ?? this.#lists.length;
    this.#lists[index] = dots;
    this.#holders[index] = 1;
    return index;
  }
}

/** Words may be signed, as rows hold them. */
function dotOf(actor: number, high: number, low: number): Dot {
  return dot((actor >>> 0) as ActorId, (high >>> 0) * 2 ** 32 + (low >>> 0));
}
