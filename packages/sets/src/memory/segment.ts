// A piece of the index of a table: pairs of a hash word and a row, in a block of the heap.
//
// It is a hash table of its own, with linear probing and no marks for what was deleted: what follows moves
// up. The first pair is its head: how many rows it has, then its depth and its number of slots. Every
// hash in it starts with the same `depth` bits. The hash word is the upper half of a position, so a
// segment is divided or made larger without a look at its rows. Blocks are powers of two in bytes.
import type { ElementHeap } from './element-heap.js';

export const SEGMENT_BYTES_MIN = 32;
/** A larger one is divided in two, where its hashes allow that. */
export const SEGMENT_BYTES_FULL = 4_096;
/** Two words: the hash word and the row. A row of 0: the slot is empty. */
export const PAIR_BYTES = 8;

const DEPTH_SHIFT = 24;
const SLOTS_MASK = 0xff_ffff;

/** An empty segment. */
export function createSegment(heap: ElementHeap, bytes: number, depth: number): number {
  const segment = heap.allocate(bytes);
  const words = heap.words[segment >>> 16] as Int32Array;
  const at = segment & 0xffff;
  words.fill(0, at, at + bytes / 4);
  words[at + 1] = (depth << DEPTH_SHIFT) | (bytes / PAIR_BYTES - 1);
  return segment;
}

// All that follow take the words of the page and the word where the segment starts.

export function segmentRows(words: Int32Array, at: number): number {
  return words[at] as number;
}

export function segmentSlots(words: Int32Array, at: number): number {
  return (words[at + 1] as number) & SLOTS_MASK;
}

/** The same without a look at the segment: one line of memory less to wait for. */
export function slotsOfBlock(heap: ElementHeap, segment: number): number {
  return ((heap.blockWords[segment >>> 16] as number) >>> 1) - 1;
}

export function segmentDepth(words: Int32Array, at: number): number {
  return (words[at + 1] as number) >>> DEPTH_SHIFT;
}

/** All its rows lie in one half of its range, which it keeps. */
export function deepenSegment(words: Int32Array, at: number): void {
  words[at + 1] = (words[at + 1] as number) + (1 << DEPTH_SHIFT);
}

export function segmentBytes(words: Int32Array, at: number): number {
  return (segmentSlots(words, at) + 1) * PAIR_BYTES;
}

/** Always leaves an empty slot, where a search ends. */
export function rowsMaxOf(slots: number): number {
  return slots - Math.max(1, (slots * 3) >>> 4);
}

export function isSegmentFull(words: Int32Array, at: number): boolean {
  return segmentRows(words, at) >= rowsMaxOf(segmentSlots(words, at));
}

/** So empty that its memory should be given back. */
export function isSegmentNearlyEmpty(words: Int32Array, at: number): boolean {
  return segmentRows(words, at) * 8 < segmentSlots(words, at);
}

/** Where the search for a hash word starts: 0 up to slots - 1. The product spreads words that look alike. */
export function homeSlot(high: number, slots: number): number {
  const spread = Math.imul(high, 0x9e37_79b1);
  if (slots <= 0xffff) return ((spread >>> 16) * slots) >>> 16;
  return Math.floor(((spread >>> 0) * slots) / 2 ** 32); // exact up to 2^21 slots
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

/** Gives false when the row is not there. */
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

/** Moves pairs up until none is parted from its home by an empty slot. */
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
    const isHomeBehindGap = gap <= slot ? gap < home && home <= slot : gap < home || home <= slot;
    if (isHomeBehindGap) continue;
    words[at + 2 + 2 * gap] = high;
    words[at + 3 + 2 * gap] = row;
    gap = slot;
  }
  words[at + 3 + 2 * gap] = 0;
}
