// Memory for rows and for the indexes of tables, outside of what the garbage collector walks.
//
// Memory comes in pages. A page holds blocks of one size and a list of its free ones, linked through their
// first words. A page whose last block is freed can serve another size: what one kind of element gave
// back is not lost to the next. What is larger than any size class gets a page of its own.
//
// A block is a number: the page in its upper half, the word where it starts in its lower half. Page 0
// does not exist, so 0 is no block.
import { assert } from '@syncline/kernel';
import { setsLimits } from '../limits.js';
import { createSizeClasses, PAGE_BYTES, stepsOf } from './size-classes.js';

/** The longest member, with room for the words in front of it. */
const ROW_BYTES_MAX = setsLimits.memberBytesMax.value + 64;
const PAGES_MAX = 32_767;
const NONE = -1;
const CACHE_LINE_BYTES = 64;
/**
 * The system's allocator gives large memory 16 bytes behind the start of a cache line. Starting here puts
 * rows of 64 bytes into one line each. Elsewhere it would cost a little speed and nothing else.
 */
const LINE_START = 48;

/** Blocks of one size. Pages of a class that have room are linked in both directions. */
interface Page {
  readonly number: number;
  sizeClass: number;
  blockBytes: number;
  blocksUsed: number;
  /** Word of the first free block; NONE when there is none. */
  free: number;
  /** Up to here blocks were handed out at least once. */
  freshWord: number;
  previous: Page | undefined;
  next: Page | undefined;
}

export class ElementHeap {
  /** The words of each page, by its number. Index 0 is no page. */
  readonly words: Int32Array[] = [new Int32Array(0)];
  /** The same memory as bytes. */
  readonly bytes: Uint8Array[] = [new Uint8Array(0)];
  /** Words of a block of each page. Kept here too, so that no reader of a block needs its head for that. */
  readonly blockWords: number[] = [0];
  readonly #pages: (Page | undefined)[] = [undefined];
  readonly #sizes = createSizeClasses(ROW_BYTES_MAX);
  /** First page with room, by class. */
  readonly #roomy: (Page | undefined)[] = this.#sizes.blockBytes.map(() => undefined);
  /** Pages without a block in use; they are kept. */
  readonly #empty: Page[] = [];
  /** Numbers of large pages that were given back. */
  readonly #numbersFree: number[] = [];
  #usedBytes = 0;
  #reservedBytes = 0;

  /** Bytes of the blocks in use. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Bytes of all pages, with those that wait for their next use. */
  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  /** A block of at least so many bytes. What it holds is left from its last use. */
  allocate(bytes: number): number {
    const steps = stepsOf(bytes);
    if (steps >= this.#sizes.classOfSteps.length) return this.#allocateLarge(bytes);
    const sizeClass = this.#sizes.classOfSteps[steps] as number;
    const page = this.#roomy[sizeClass] ?? this.#openPage(sizeClass);
    const words = this.words[page.number] as Int32Array;
    let word = page.free;
    if (word === NONE) {
      word = page.freshWord;
      page.freshWord += page.blockBytes >>> 2;
    } else {
      page.free = words[word] as number;
    }
    page.blocksUsed += 1;
    this.#usedBytes += page.blockBytes;
    if (!hasRoom(page, words)) this.#unlink(page);
    return (page.number << 16) | word;
  }

  free(block: number): void {
    const page = this.#pages[block >>> 16];
    assert(page !== undefined && page.blocksUsed > 0, 'a block is freed once');
    const words = this.words[page.number] as Int32Array;
    const wasFull = !hasRoom(page, words);
    words[block & 0xffff] = page.free;
    page.free = block & 0xffff;
    page.blocksUsed -= 1;
    this.#usedBytes -= page.blockBytes;
    if (page.sizeClass === NONE) {
      this.#dropLarge(page);
    } else if (page.blocksUsed === 0) {
      if (!wasFull) this.#unlink(page);
      this.#empty.push(page);
    } else if (wasFull) {
      this.#link(page);
    }
  }

  #openPage(sizeClass: number): Page {
    const page = this.#empty.pop() ?? this.#addPage(PAGE_BYTES);
    page.sizeClass = sizeClass;
    page.blockBytes = this.#sizes.blockBytes[sizeClass] as number;
    this.blockWords[page.number] = page.blockBytes >>> 2;
    page.free = NONE;
    page.freshWord = 0;
    this.#link(page);
    return page;
  }

  #addPage(bytes: number): Page {
    const number = this.#numbersFree.pop() ?? this.words.length;
    assert(number <= PAGES_MAX, 'the heap has room for another page');
    const memory = new ArrayBuffer(bytes + CACHE_LINE_BYTES);
    this.words[number] = new Int32Array(memory, LINE_START, bytes >>> 2);
    this.bytes[number] = new Uint8Array(memory, LINE_START, bytes);
    this.blockWords[number] = bytes >>> 2;
    this.#reservedBytes += bytes;
    const page: Page = {
      number,
      sizeClass: NONE,
      blockBytes: bytes,
      blocksUsed: 0,
      free: NONE,
      freshWord: 0,
      previous: undefined,
      next: undefined,
    };
    this.#pages[number] = page;
    return page;
  }

  #allocateLarge(bytes: number): number {
    const page = this.#addPage(4 * Math.ceil(bytes / 4));
    page.blocksUsed = 1;
    this.#usedBytes += page.blockBytes;
    return page.number << 16;
  }

  #dropLarge(page: Page): void {
    this.words[page.number] = new Int32Array(0);
    this.bytes[page.number] = new Uint8Array(0);
    this.#pages[page.number] = undefined;
    this.#reservedBytes -= page.blockBytes;
    this.#numbersFree.push(page.number);
  }

  #link(page: Page): void {
    const first = this.#roomy[page.sizeClass];
    page.previous = undefined;
    page.next = first;
    if (first !== undefined) first.previous = page;
    this.#roomy[page.sizeClass] = page;
  }

  #unlink(page: Page): void {
    if (page.previous === undefined) this.#roomy[page.sizeClass] = page.next;
    else page.previous.next = page.next;
    if (page.next !== undefined) page.next.previous = page.previous;
    page.previous = undefined;
    page.next = undefined;
  }
}

function hasRoom(page: Page, words: Int32Array): boolean {
  return page.free !== NONE || page.freshWord + (page.blockBytes >>> 2) <= words.length;
}
