// The index of a table: finds the segment of a hash word by its first bits (extendible hashing, Fagin et
// al., 1979).
//
// The directory has a slot for each value of the first `depth` bits; a segment of a smaller depth fills
// several adjacent slots. A small set has one segment and no slots: its directory has depth 0.
//
// A full segment doubles up to 4 KiB; then it is divided by the next bit of its hashes. So an insert moves
// the pairs of one segment at most and never waits for the rehash of a whole set. Two cases are special:
//
// - Members may arrive in the order of their positions, as from a checkpoint or a copy. Then all rows of a
//   segment lie in one half of its range. It keeps that half and leaves the other to a tiny segment.
// - A client can search for members whose hashes start alike, where dividing would enlarge the directory
//   and separate nothing. So the directory has at most one slot per 32 rows, and a segment that must not be
//   divided keeps doubling. Of n rows that arrive in order, at most about sqrt(32 n) share a segment.
//
// A segment is joined with its neighbor when an eighth of its slots is in use, and is then at most three
// fifths full: many rows come or go before it is divided or joined again.
import { assert, SynclineError } from '@syncline/kernel';
import { type ElementHeap, wordOf } from './element-heap.js';
import {
  addToSegment,
  countRowsWithBit,
  createSegment,
  deepenSegment,
  isSegmentFull,
  isSegmentNearlyEmpty,
  movePairs,
  removeFromSegment,
  SEGMENT_BYTES_MIN,
  segmentBytes,
  segmentBytesFor,
  segmentDepth,
  segmentRows,
  segmentSlots,
} from './segment.js';

/** A segment of this size is divided rather than doubled, where its hashes allow it. */
const SEGMENT_BYTES_FULL = 4_096;
/** Evenly distributed hashes bring five times as many rows before the directory must grow. */
const ROWS_PER_SLOT_MIN = 32;
/** With fewer rows a divided segment starts small: nearly empty large ones would waste memory. */
const FEW_ROWS = 64;
const JOINED_ROWS_MAX = 300;
const NO_SLOTS = new Int32Array(0);

export class SegmentDirectory {
  readonly heap: ElementHeap;
  rows = 0;
  /** There are 2^depth slots. */
  depth = 0;
  #slots = NO_SLOTS;
  /** The only segment while the depth is 0; 0 if there is none. */
  #root = 0;
  /** The number of segments of each depth; created with the first slots. */
  #segmentsByDepth: number[] | undefined;
  /** Upper bounds over all segments: of their pairs, and of their pairs times 2^depth. */
  #pairsMax = 0;
  #densityMax = 0;
  /** Segments became smaller or fewer since the bounds were last exact. */
  #hasShrunk = false;

  constructor(heap: ElementHeap) {
    this.heap = heap;
  }

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** A power of two that is at least the pairs times 2^depth of every segment. */
  get density(): number {
    return Math.min(this.#densityMax, this.#pairsMax * 2 ** this.depth);
  }

  /** The segment for a hash word; 0 if there is none. */
  segmentOf(high: number): number {
    const depth = this.depth;
    return depth === 0 ? this.#root : (this.#slots[high >>> (32 - depth)] as number);
  }

  /** Throws `limit-exceeded` if there is no memory; the index then holds what it held. */
  add(high: number, row: number): void {
    let segment = this.segmentOf(high);
    if (segment === 0) {
      segment = createSegment(this.heap, SEGMENT_BYTES_MIN, 0);
      this.#replace(high, 0, segment);
    } else if (isSegmentFull(this.heap.words[segment >>> 16] as Int32Array, wordOf(segment))) {
      segment = this.#makeRoom(high);
    }
    addToSegment(this.heap.words[segment >>> 16] as Int32Array, wordOf(segment), high, row);
    this.rows += 1;
  }

  remove(high: number, row: number): void {
    const segment = this.segmentOf(high);
    const words = this.heap.words[segment >>> 16] as Int32Array;
    const wasFound = segment !== 0 && removeFromSegment(words, wordOf(segment), high, row);
    assert(wasFound, 'the row belongs to the table');
    this.rows -= 1;
    if (this.rows === 0) this.clear();
    else if (isSegmentNearlyEmpty(words, wordOf(segment))) this.#releaseRoom(high);
  }

  /**
   * Visits each segment once, in the order of positions, from that of `high` on, until `visit` returns
   * false. `end` is the first hash word after the segment; it is 2^32 for the last one.
   */
  walk(high: number, visit: (segment: number, end: number) => boolean): void {
    const slotsCount = 2 ** this.depth;
    let slot = this.depth === 0 ? 0 : high >>> (32 - this.depth);
    while (slot < slotsCount) {
      const segment = this.depth === 0 ? this.#root : (this.#slots[slot] as number);
      if (segment === 0) return;
      const words = this.heap.words[segment >>> 16] as Int32Array;
      const width = 2 ** (this.depth - segmentDepth(words, wordOf(segment)));
      slot += width - (slot % width);
      if (!visit(segment, slot * 2 ** (32 - this.depth))) return; // it may free the segment
    }
  }

  /** Makes `density` exact again, if segments became smaller or fewer. */
  measure(): void {
    if (!this.#hasShrunk) return;
    this.#hasShrunk = false;
    this.#pairsMax = 0;
    this.#densityMax = 0;
    this.walk(0, (segment) => {
      this.#include(segment);
      return true;
    });
  }

  /** Frees all segments, but not their rows. */
  clear(): void {
    this.walk(0, (segment) => {
      this.heap.free(segment);
      return true;
    });
    this.rows = 0;
    this.depth = 0;
    this.#slots = NO_SLOTS;
    this.#root = 0;
    this.#segmentsByDepth = undefined;
    this.#pairsMax = 0;
    this.#densityMax = 0;
    this.#hasShrunk = false;
  }

  /** Returns the segment for the hash word once it is not full. */
  #makeRoom(high: number): number {
    for (;;) {
      const segment = this.segmentOf(high);
      const words = this.heap.words[segment >>> 16] as Int32Array;
      if (!isSegmentFull(words, wordOf(segment))) return segment;
      const bytes = segmentBytes(words, wordOf(segment));
      const depth = segmentDepth(words, wordOf(segment));
      if (bytes >= SEGMENT_BYTES_FULL && this.#mayDivide(depth)) this.#divide(segment, high);
      else this.#resize(segment, high, 2 * bytes);
    }
  }

  /** Joins or halves a segment that has become nearly empty. Without memory to do so it stays as it is. */
  #releaseRoom(high: number): void {
    try {
      while (this.#shrink(this.segmentOf(high), high)) {}
    } catch (error) {
      if (!(error instanceof SynclineError)) throw error;
    }
  }

  /** Returns false if the segment stays as it is. */
  #shrink(segment: number, high: number): boolean {
    const words = this.heap.words[segment >>> 16] as Int32Array;
    const bytes = segmentBytes(words, wordOf(segment));
    if (segmentDepth(words, wordOf(segment)) > 0 && bytes <= SEGMENT_BYTES_FULL) {
      return this.#joinWithNeighbor(segment, high);
    }
    if (!isSegmentNearlyEmpty(words, wordOf(segment)) || bytes === SEGMENT_BYTES_MIN) return false;
    this.#resize(segment, high, bytes / 2);
    this.#hasShrunk = true;
    return true;
  }

  #include(segment: number): void {
    const words = this.heap.words[segment >>> 16] as Int32Array;
    const pairs = segmentSlots(words, wordOf(segment)) + 1;
    const density = pairs * 2 ** segmentDepth(words, wordOf(segment));
    this.#pairsMax = Math.max(this.#pairsMax, pairs);
    this.#densityMax = Math.max(this.#densityMax, density);
  }

  #mayDivide(depth: number): boolean {
    return depth < this.depth || 2 ** (depth + 1) * ROWS_PER_SLOT_MIN <= this.rows;
  }

  #divide(segment: number, high: number): void {
    const { heap } = this;
    const words = heap.words[segment >>> 16] as Int32Array;
    const at = wordOf(segment);
    const depth = segmentDepth(words, at) + 1;
    const bit = 2 ** (32 - depth);
    if (depth > this.depth) this.#widen();
    const upperRows = countRowsWithBit(words, at, bit);
    const lowerRows = segmentRows(words, at) - upperRows;
    let lower = segment;
    let upper = segment;
    if (upperRows === 0 || lowerRows === 0) {
      const other = createSegment(heap, SEGMENT_BYTES_MIN, depth);
      deepenSegment(words, at);
      if (upperRows === 0) upper = other;
      else lower = other;
    } else {
      lower = createSegment(heap, bytesFor(lowerRows), depth);
      try {
        upper = createSegment(heap, bytesFor(upperRows), depth);
      } catch (error) {
        heap.free(lower);
        throw error;
      }
      movePairs(heap, segment, bit, lower, upper);
    }
    this.#replace(high & ~bit, depth, lower);
    this.#replace(high | bit, depth, upper);
    this.#count(depth - 1, -1);
    this.#count(depth, 2);
  }

  /** Moves the pairs of a segment to one of another size and the same range. */
  #resize(segment: number, high: number, bytes: number): void {
    const words = this.heap.words[segment >>> 16] as Int32Array;
    const depth = segmentDepth(words, wordOf(segment));
    const resized = createSegment(this.heap, bytes, depth);
    movePairs(this.heap, segment, 0, resized, resized);
    this.#replace(high, depth, resized);
  }

  /** Returns false if the two stay as they are. */
  #joinWithNeighbor(segment: number, high: number): boolean {
    const { heap } = this;
    const words = heap.words[segment >>> 16] as Int32Array;
    const depth = segmentDepth(words, wordOf(segment));
    const neighbor = this.segmentOf(high ^ (2 ** (32 - depth)));
    const neighborWords = heap.words[neighbor >>> 16] as Int32Array;
    if (segmentDepth(neighborWords, wordOf(neighbor)) !== depth) return false;
    const neighborRows = segmentRows(neighborWords, wordOf(neighbor));
    if (segmentRows(words, wordOf(segment)) + neighborRows > JOINED_ROWS_MAX) return false;
    const joined = createSegment(heap, SEGMENT_BYTES_FULL, depth - 1);
    movePairs(heap, segment, 0, joined, joined);
    movePairs(heap, neighbor, 0, joined, joined);
    this.#replace(high, depth - 1, joined);
    this.#count(depth, -2);
    this.#count(depth - 1, 1);
    this.#hasShrunk = true;
    while (this.depth > 0 && this.#segmentsByDepth?.[this.depth] === 0) this.#narrow();
    return true;
  }

  /** Puts a segment where one of the same range was. `high` is any hash word of that range. */
  #replace(high: number, depth: number, segment: number): void {
    if (this.depth === 0) {
      this.#root = segment;
      this.#pairsMax = 0; // the only segment makes both bounds exact
      this.#densityMax = 0;
    } else {
      const width = 2 ** (this.depth - depth);
      const slot = high >>> (32 - this.depth);
      const first = slot - (slot % width);
      this.#slots.fill(segment, first, first + width);
    }
    this.#include(segment);
  }

  #count(depth: number, change: number): void {
    this.#segmentsByDepth ??= [1];
    this.#segmentsByDepth[depth] = (this.#segmentsByDepth[depth] ?? 0) + change;
  }

  #widen(): void {
    const slots = new Int32Array(2 ** (this.depth + 1));
    const old = this.depth === 0 ? Int32Array.of(this.#root) : this.#slots;
    for (let slot = 0; slot < slots.length; slot += 1) slots[slot] = old[slot >>> 1] as number;
    this.#slots = slots;
    this.depth += 1;
  }

  #narrow(): void {
    this.#root = this.#slots[0] as number;
    const slots = this.depth === 1 ? NO_SLOTS : new Int32Array(2 ** (this.depth - 1));
    for (let slot = 0; slot < slots.length; slot += 1) {
      slots[slot] = this.#slots[2 * slot] as number;
    }
    this.#slots = slots;
    this.depth -= 1;
  }
}

function bytesFor(rows: number): number {
  return segmentBytesFor(rows, rows < FEW_ROWS ? SEGMENT_BYTES_MIN : SEGMENT_BYTES_FULL);
}
