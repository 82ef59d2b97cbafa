// Memory for rows and for the indexes of tables, outside the garbage-collected heap.
//
// Memory comes in pages of 1 MiB. A page holds blocks of one size and a list of its free blocks, linked
// through their first words. When its last block is freed, a page can serve another size. A block larger
// than every size class gets a page of its own.
//
// Pages are reserved in slabs. A slab whose pages are all empty is dropped, apart from a small reserve, and
// the system gets its memory back at the next full garbage collection. Slabs are larger than 32 MiB because
// glibc keeps smaller areas in its own free lists: measured, dropped pages of 1 MiB stayed resident. Only
// the first pages of a heap come one by one, so that a small heap stays small.
//
// A block is a 32-bit number: the page in its upper half, and where it starts in its lower half, counted
// in units of 16 bytes. Page 0 does not exist, so 0 means "no block". From page 32,768 on the number is
// negative: compare blocks only for equality, and take them apart with `>>> 16` and `wordOf`.
import { assert, SynclineError } from '@syncline/kernel';

/** 65,536 units: a unit fits in the lower half of a block number. */
export const PAGE_BYTES = 1024 * 1024;
const PAGES_MAX = 65_535;
const SLAB_PAGES = 40;
/** A slab is only dropped if at least this many empty pages remain for reuse. */
const EMPTY_PAGES_MIN = 16;
const UNIT_BYTES = 16;
/** Up to this size there is a size class for every unit, above it there are eight per doubling. */
const FINE_BYTES_MAX = 512;
/** The largest size class. Rows and all but the largest segments fit. */
const CLASS_BYTES_MAX = PAGE_BYTES / 2;
/**
 * The system's allocator returns large areas 16 bytes past the start of a cache line. Starting 48 bytes
 * later puts page and blocks at the start of a line. On other systems this costs a little speed at most.
 */
const LINE_START = 48;
const NONE = -1;
const NO_WORDS = new Int32Array(0);
const NO_BYTES = new Uint8Array(0);

export interface SizeClasses {
  /** Bytes of a block by class, ascending. */
  readonly blockBytes: readonly number[];
  /** The class for a size, by the number of units it needs. */
  readonly classOfUnits: Uint8Array;
}

/** Pages that share one reservation. */
interface Slab {
  readonly bytes: number;
  readonly pagesCount: number;
  readonly empty: Page[];
}

/** Blocks of one size. Pages of a class that have room form a doubly linked list. */
interface Page {
  readonly number: number;
  readonly slab: Slab;
  sizeClass: number;
  blockBytes: number;
  blocksUsed: number;
  /** The word of the first free block, or NONE. */
  free: number;
  /** Blocks from this word on have never been allocated. */
  freshWord: number;
  previous: Page | undefined;
  next: Page | undefined;
}

/** The word of its page at which a block starts. */
export function wordOf(block: number): number {
  return (block & 0xffff) << 2;
}

export class ElementHeap {
  /** The heap never reserves more than this. */
  readonly capacityBytes: number;
  /** The words of each page, by page number. Index 0 is unused. */
  readonly words: Int32Array[] = [NO_WORDS];
  readonly bytes: Uint8Array[] = [NO_BYTES];
  /** Words per block of each page. Kept here too, so that readers need not load the page's record. */
  readonly blockWords: number[] = [0];
  readonly #pages: (Page | undefined)[] = [undefined];
  readonly #sizes = createSizeClasses();
  /** The first page with room, by class. */
  readonly #pagesWithSpace: (Page | undefined)[] = this.#sizes.blockBytes.map(() => undefined);
  readonly #slabs = new Set<Slab>();
  #emptyPages = 0;
  readonly #freeNumbers: number[] = [];
  usedBytes = 0;
  /** Bytes of all slabs, including empty pages and those that were never used. */
  reservedBytes = 0;

  /** The capacity is at most 64 GiB less one page, the default: there are no more page numbers. */
  constructor(capacityBytes: number = PAGES_MAX * PAGE_BYTES) {
    assert(capacityBytes <= PAGES_MAX * PAGE_BYTES, 'every page has a number');
    this.capacityBytes = capacityBytes;
  }

  /**
   * Returns a block of at least `bytes`. Its contents are left over from its previous use. Throws
   * `limit-exceeded` when the capacity or the memory of the system is exhausted.
   */
  allocate(bytes: number): number {
    if (bytes > CLASS_BYTES_MAX) return this.#allocateLarge(bytes);
    const sizeClass = this.#sizes.classOfUnits[unitsOf(bytes)] as number;
    const page = this.#pagesWithSpace[sizeClass] ?? this.#openPage(sizeClass);
    const words = this.words[page.number] as Int32Array;
    let word = page.free;
    if (word === NONE) {
      word = page.freshWord;
      page.freshWord += page.blockBytes >>> 2;
    } else {
      page.free = words[word] as number;
    }
    page.blocksUsed += 1;
    this.usedBytes += page.blockBytes;
    if (!hasRoom(page, words)) this.#unlink(page);
    return (page.number << 16) | (word >>> 2);
  }

  free(block: number): void {
    const page = this.#pages[block >>> 16];
    assert(page !== undefined && page.blocksUsed > 0, 'a block is freed once');
    const words = this.words[page.number] as Int32Array;
    const wasFull = !hasRoom(page, words);
    const word = wordOf(block);
    words[word] = page.free;
    page.free = word;
    page.blocksUsed -= 1;
    this.usedBytes -= page.blockBytes;
    if (page.blocksUsed === 0) {
      if (!wasFull && page.sizeClass !== NONE) this.#unlink(page);
      this.#closePage(page);
    } else if (wasFull) {
      this.#link(page);
    }
  }

  #openPage(sizeClass: number): Page {
    const slab = this.#slabWithEmptyPage();
    const page = slab.empty.pop();
    assert(page !== undefined, 'the slab has an empty page');
    if (slab.empty.length === 0) this.#slabs.delete(slab);
    this.#emptyPages -= 1;
    page.sizeClass = sizeClass;
    page.blockBytes = this.#sizes.blockBytes[sizeClass] as number;
    this.blockWords[page.number] = page.blockBytes >>> 2;
    page.free = NONE;
    page.freshWord = 0;
    this.#link(page);
    return page;
  }

  #closePage(page: Page): void {
    const { slab } = page;
    slab.empty.push(page);
    if (page.sizeClass === NONE) {
      this.#dropSlab(slab);
      return;
    }
    this.#slabs.add(slab);
    this.#emptyPages += 1;
    const isUnused = slab.empty.length === slab.pagesCount;
    if (isUnused && this.#emptyPages - slab.pagesCount >= EMPTY_PAGES_MIN) {
      this.#slabs.delete(slab);
      this.#emptyPages -= slab.pagesCount;
      this.#dropSlab(slab);
    }
  }

  #slabWithEmptyPage(): Slab {
    for (const slab of this.#slabs) return slab;
    const pagesLeft = Math.floor((this.capacityBytes - this.reservedBytes) / PAGE_BYTES);
    const isSmall = this.reservedBytes < SLAB_PAGES * PAGE_BYTES;
    const slab = this.#addSlab(
      isSmall ? 1 : Math.max(1, Math.min(SLAB_PAGES, pagesLeft)),
      PAGE_BYTES,
    );
    this.#slabs.add(slab);
    this.#emptyPages += slab.pagesCount;
    return slab;
  }

  /** No page is smaller than PAGE_BYTES, so the capacity also limits the number of pages. */
  #addSlab(pagesCount: number, pageBytes: number): Slab {
    assert(pageBytes >= PAGE_BYTES && pageBytes % UNIT_BYTES === 0, 'a page has whole units');
    const bytes = pagesCount * pageBytes;
    const memory = this.#reserve(bytes);
    const slab: Slab = { bytes, pagesCount, empty: [] };
    for (let start = bytes - pageBytes; start >= 0; start -= pageBytes) {
      slab.empty.push(this.#addPage(slab, memory, LINE_START + start, pageBytes));
    }
    return slab;
  }

  #reserve(bytes: number): ArrayBuffer {
    if (this.reservedBytes + bytes > this.capacityBytes) throw this.#exhausted(bytes);
    try {
      const memory = new ArrayBuffer(LINE_START + bytes);
      this.reservedBytes += bytes;
      return memory;
    } catch (cause) {
      throw this.#exhausted(bytes, cause);
    }
  }

  #exhausted(bytes: number, cause?: unknown): SynclineError {
    return new SynclineError(
      'limit-exceeded',
      `cannot reserve ${bytes} bytes for elements: ${this.reservedBytes} of ${this.capacityBytes} bytes are reserved`,
      { details: { limit: 'capacityBytes', value: this.capacityBytes }, cause },
    );
  }

  #addPage(slab: Slab, memory: ArrayBuffer, start: number, bytes: number): Page {
    const number = this.#freeNumbers.pop() ?? this.words.length;
    this.words[number] = new Int32Array(memory, start, bytes / 4);
    this.bytes[number] = new Uint8Array(memory, start, bytes);
    this.blockWords[number] = bytes / 4;
    const page: Page = {
      number,
      slab,
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
    const pageBytes = Math.max(PAGE_BYTES, UNIT_BYTES * Math.ceil(bytes / UNIT_BYTES));
    const page = this.#addSlab(1, pageBytes).empty.pop();
    assert(page !== undefined, 'a slab has a page');
    page.blocksUsed = 1;
    this.usedBytes += page.blockBytes;
    return page.number << 16;
  }

  #dropSlab(slab: Slab): void {
    this.reservedBytes -= slab.bytes;
    for (const { number } of slab.empty) {
      this.words[number] = NO_WORDS;
      this.bytes[number] = NO_BYTES;
      this.blockWords[number] = 0;
      this.#pages[number] = undefined;
      this.#freeNumbers.push(number);
    }
  }

  #link(page: Page): void {
    const first = this.#pagesWithSpace[page.sizeClass];
    page.previous = undefined;
    page.next = first;
    if (first !== undefined) first.previous = page;
    this.#pagesWithSpace[page.sizeClass] = page;
  }

  #unlink(page: Page): void {
    if (page.previous === undefined) this.#pagesWithSpace[page.sizeClass] = page.next;
    else page.previous.next = page.next;
    if (page.next !== undefined) page.next.previous = page.previous;
    page.previous = undefined;
    page.next = undefined;
  }
}

function hasRoom(page: Page, words: Int32Array): boolean {
  return page.free !== NONE || page.freshWord + (page.blockBytes >>> 2) <= words.length;
}

/**
 * The sizes of blocks: multiples of 16 bytes up to 512, then eight per doubling, up to half a page.
 *
 * A size above 512 is stretched until a whole number of blocks fills the page. For a row a block is then
 * at most 15% larger than requested.
 */
export function createSizeClasses(): SizeClasses {
  const sizes: number[] = [];
  for (let size = UNIT_BYTES; size <= FINE_BYTES_MAX; size += UNIT_BYTES) sizes.push(size);
  for (let base = FINE_BYTES_MAX; base < CLASS_BYTES_MAX; base *= 2) {
    for (let step = 1; step <= 8; step += 1) sizes.push(stretched(base + (base / 8) * step));
  }
  const blockBytes = [...new Set(sizes)];
  const classOfUnits = new Uint8Array(unitsOf(CLASS_BYTES_MAX) + 1);
  let sizeClass = 0;
  for (let units = 0; units < classOfUnits.length; units += 1) {
    if (units * UNIT_BYTES > (blockBytes[sizeClass] ?? 0)) sizeClass += 1;
    classOfUnits[units] = sizeClass;
  }
  return { blockBytes, classOfUnits };
}

/** Index into `classOfUnits`. */
export function unitsOf(bytes: number): number {
  return (bytes + UNIT_BYTES - 1) >>> 4;
}

function stretched(size: number): number {
  const perPage = Math.floor(PAGE_BYTES / size);
  return Math.floor(PAGE_BYTES / perPage / UNIT_BYTES) * UNIT_BYTES;
}
