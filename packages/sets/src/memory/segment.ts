// One segment of the index of a table: pairs of a hash word and a row, in a block of the heap.
//
// A segment is a small hash table with linear probing and without tombstones: a deletion moves later pairs
// up. Pair 0 is its header: the number of rows, then its depth and the logarithm of its size. All its hash
// words share their first `depth` bits. The hash word is the upper half of a position, so a segment covers
// a range of positions, and can be divided or resized without reading its rows. Sizes are powers of two.
import { type ElementHeap, wordOf } from './element-heap.js';

export const SEGMENT_BYTES_MIN = 32;
/** Two words: the hash word and the row. Row 0 means the slot is empty. */
const PAIR_BYTES = 8;
const DEPTH_SHIFT = 8;
const SIZE_MASK = 0xff;

/** An empty segment. `bytes` is a power of two. */
export function createSegment(heap: ElementHeap, bytes: number, depth: number): number {
  const segment = heap.allocate(bytes);
  const words = heap.words[segment >>> 16] as Int32Array;
  const at = wordOf(segment);
  words.fill(0, at, at + bytes / 4);
  words[at + 1] = (depth << DEPTH_SHIFT) | (31 - Math.clz32(bytes / PAIR_BYTES));
  return segment;
}

// Most functions take the words of the page and the word at which the segment starts.

export function segmentRows(words: Int32Array, at: number): number {
  return words[at] as number;
}

/** Slot `n` is pair `n + 1`. */
export function segmentSlots(words: Int32Array, at: number): number {
  return (1 << ((words[at + 1] as number) & SIZE_MASK)) - 1;
}

/** The same without reading the segment, which saves a cache miss. */
export function slotsOfBlock(heap: ElementHeap, segment: number): number {
  return ((heap.blockWords[segment >>> 16] as number) >>> 1) - 1;
}

export function segmentBytes(words: Int32Array, at: number): number {
  return (segmentSlots(words, at) + 1) * PAIR_BYTES;
}

export function segmentDepth(words: Int32Array, at: number): number {
  return (words[at + 1] as number) >>> DEPTH_SHIFT;
}

/** Halves its range. All its rows lie in the half that it keeps. */
export function deepenSegment(words: Int32Array, at: number): void {
  words[at + 1] = (words[at + 1] as number) + (1 << DEPTH_SHIFT);
}

/** Always leaves an empty slot, at which a search ends. */
function rowsMaxOf(slots: number): number {
  return slots - Math.max(1, (slots * 3) >>> 4);
}

export function isSegmentFull(words: Int32Array, at: number): boolean {
  return segmentRows(words, at) >= rowsMaxOf(segmentSlots(words, at));
}

/** So empty that its memory should be released. */
export function isSegmentNearlyEmpty(words: Int32Array, at: number): boolean {
  return segmentRows(words, at) * 8 < segmentSlots(words, at);
}

/** Where the search for a hash word starts: 0 to slots - 1. The product scatters similar words. */
export function homeSlot(high: number, slots: number): number {
  const spread = Math.imul(high, 0x9e37_79b1);
  if (slots <= 0xffff) return ((spread >>> 16) * slots) >>> 16;
  return Math.floor(((spread >>> 0) * slots) / 2 ** 32);
}

/** The segment must have room. */
export function addToSegment(words: Int32Array, at: number, high: number, row: number): void {
  const slots = segmentSlots(words, at);
  let slot = homeSlot(high, slots);
  while (words[at + 3 + 2 * slot] !== 0) slot = slot + 1 === slots ? 0 : slot + 1;
  words[at + 2 + 2 * slot] = high;
  words[at + 3 + 2 * slot] = row;
  words[at] = (words[at] as number) + 1;
}

export function removeFromSegment(
  words: Int32Array,
  at: number,
  high: number,
  row: number,
): boolean {
  const slots = segmentSlots(words, at);
  let slot = homeSlot(high, slots);
  for (;;) {
    const found = words[at + 3 + 2 * slot];
    if (found === 0) return false;
    if (found === row) break;
    slot = slot + 1 === slots ? 0 : slot + 1;
  }
  closeGap(words, at, slot);
  words[at] = (words[at] as number) - 1;
  return true;
}

/** Moves pairs up until no empty slot separates a pair from its home. */
function closeGap(words: Int32Array, at: number, emptied: number): void {
  const slots = segmentSlots(words, at);
  let gap = emptied;
  let slot = gap;
  for (;;) {
    slot = slot + 1 === slots ? 0 : slot + 1;
    const row = words[at + 3 + 2 * slot] as number;
    if (row === 0) break;
    const high = words[at + 2 + 2 * slot] as number;
    const home = homeSlot(high, slots);
    const isHomeAfterGap = gap <= slot ? gap < home && home <= slot : gap < home || home <= slot;
    if (isHomeAfterGap) continue;
    words[at + 2 + 2 * gap] = high;
    words[at + 3 + 2 * gap] = row;
    gap = slot;
  }
  words[at + 3 + 2 * gap] = 0;
}

export function countRowsWithBit(words: Int32Array, at: number, bit: number): number {
  let rows = 0;
  for (let pair = segmentSlots(words, at); pair > 0; pair -= 1) {
    if (words[at + 2 * pair + 1] !== 0 && ((words[at + 2 * pair] as number) & bit) !== 0) rows += 1;
  }
  return rows;
}

/** Moves all pairs to `lower` or, where the hash word has the bit set, to `upper`. Frees `from`. */
export function movePairs(
  heap: ElementHeap,
  from: number,
  bit: number,
  lower: number,
  upper: number,
): void {
  const words = heap.words[from >>> 16] as Int32Array;
  const at = wordOf(from);
  const slots = segmentSlots(words, at);
  const lowerWords = heap.words[lower >>> 16] as Int32Array;
  const lowerAt = wordOf(lower);
  const upperWords = heap.words[upper >>> 16] as Int32Array;
  const upperAt = wordOf(upper);
  for (let pair = 1; pair <= slots; pair += 1) {
    const row = words[at + 2 * pair + 1] as number;
    if (row === 0) continue;
    const high = words[at + 2 * pair] as number;
    if ((high & bit) === 0) addToSegment(lowerWords, lowerAt, high, row);
    else addToSegment(upperWords, upperAt, high, row);
  }
  heap.free(from);
}

/** The smallest size from `bytesMin` on with room for at least one more row. */
export function segmentBytesFor(rows: number, bytesMin: number): number {
  let bytes = bytesMin;
  while (rowsMaxOf(bytes / PAIR_BYTES - 1) <= rows) bytes *= 2;
  return bytes;
}
