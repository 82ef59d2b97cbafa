// What lies where in a row: the words of one element, then the bytes of its member.
//
// A row is a number: the page in its upper half, the word where it starts in its lower half. It stays the
// same until it is freed. 0 is no row. These functions are small so that they vanish into their callers.
import type { ElementHeap } from './element-heap.js';

/** The upper 32 bits of the member's position. */
export const ROW_HASH_HIGH = 0;
/** The lower 16 bits of the member's position. */
export const ROW_HASH_LOW = 1;
/** Bytes of the member. */
export const ROW_MEMBER_BYTES = 2;
/** Where the entry of the element in the head is; 0: it has none. */
export const ROW_HEAD = 3;
/** Its last place in the undo log; only valid for the running operation. */
export const ROW_TOUCH = 4;
/** The actor of its dot. 0: it has no dot, the element is absent. 1: it has several, ROW_COUNTER_LOW says where. */
export const ROW_ACTOR = 5;
export const ROW_COUNTER_HIGH = 6;
export const ROW_COUNTER_LOW = 7;
/** Here the bytes of the member begin. */
export const ROW_HEADER_WORDS = 8;

export function readWord(heap: ElementHeap, row: number, word: number): number {
  const words = heap.words[row >>> 16] as Int32Array;
  return words[(row & 0xffff) + word] as number;
}

export function writeWord(heap: ElementHeap, row: number, word: number, value: number): void {
  const words = heap.words[row >>> 16] as Int32Array;
  words[(row & 0xffff) + word] = value;
}

/** The bytes that hold the member, from `memberStart` to `memberEnd`. They move with no other row. */
export function memberBuffer(heap: ElementHeap, row: number): Uint8Array {
  return heap.bytes[row >>> 16] as Uint8Array;
}

export function memberStart(row: number): number {
  return ((row & 0xffff) + ROW_HEADER_WORDS) * 4;
}

export function memberEnd(heap: ElementHeap, row: number): number {
  return memberStart(row) + readWord(heap, row, ROW_MEMBER_BYTES);
}

/** 48 bits: the place of the member in every scan. */
export function rowPosition(heap: ElementHeap, row: number): number {
  const high = readWord(heap, row, ROW_HASH_HIGH) >>> 0;
  return high * 0x1_0000 + readWord(heap, row, ROW_HASH_LOW);
}
