// Finds the segment of a hash word by its first bits: extendible hashing (Fagin and others, 1979).
//
// There is one slot for each value of the first `depth` bits; a segment of a smaller depth fills several
// slots side by side. So a segment is a range of positions, and one is divided or joined without a touch
// of the others. A small set has one segment and no slots: its depth is 0.
import type { ElementHeap } from './element-heap.js';
import { SEGMENT_BYTES_FULL, segmentDepth } from './segment.js';

const NO_SLOTS = new Int32Array(0);

export class SegmentDirectory {
  readonly heap: ElementHeap;
  /** Rows of all segments. */
  rows = 0;
  /** No segment was larger since the last `clear`. */
  segmentBytesMax = SEGMENT_BYTES_FULL;
  #depth = 0;
  #slots = NO_SLOTS;
  /** The only segment while the depth is 0; 0 when there is none. */
  #root = 0;
  /** How many segments there are of each depth; made with the first slots. */
  #segmentsByDepth: number[] | undefined;

  constructor(heap: ElementHeap) {
    this.heap = heap;
  }

  /** There are 2^depth slots. */
  get depth(): number {
    return this.#depth;
  }

  /** Bytes of the slots. */
  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** The segment for a hash word; 0 when there is none. */
  segmentOf(high: number): number {
    const depth = this.#depth;
    return depth === 0 ? this.#root : (this.#slots[high >>> (32 - depth)] as number);
  }

  segmentAt(slot: number): number {
    return this.#depth === 0 ? this.#root : (this.#slots[slot] as number);
  }

  /** Puts a segment where one of the same depth was. `high` is a hash word of its range. */
  replace(high: number, depth: number, segment: number): void {
    if (this.#depth === 0) {
      this.#root = segment;
      return;
    }
    const width = 2 ** (this.#depth - depth);
    const slot = high >>> (32 - this.#depth);
    const first = slot - (slot % width);
    this.#slots.fill(segment, first, first + width);
  }

  /** Puts two segments where one was. `depth` is that of the two. */
  divide(high: number, depth: number, lower: number, upper: number): void {
    if (depth > this.#depth) this.#widen();
    const bit = 2 ** (32 - depth);
    this.replace(high & ~bit, depth, lower);
    this.replace(high | bit, depth, upper);
    this.#count(depth - 1, -1);
    this.#count(depth, 2);
  }

  /** Puts one segment where two were. `depth` is that of the one. */
  join(high: number, depth: number, segment: number): void {
    this.replace(high, depth, segment);
    this.#count(depth + 1, -2);
    this.#count(depth, 1);
    while (this.#depth > 0 && this.#segmentsByDepth?.[this.#depth] === 0) this.#narrow();
  }

  /** Each segment once, in the order of positions, from that of `high` on, until `visit` gives false. */
  walk(high: number, visit: (segment: number) => boolean): void {
    const slotsCount = 2 ** this.#depth;
    let slot = this.#depth === 0 ? 0 : high >>> (32 - this.#depth);
    while (slot < slotsCount) {
      const segment = this.segmentAt(slot);
      if (segment === 0) return;
      const words = this.heap.words[segment >>> 16] as Int32Array;
      const width = 2 ** (this.#depth - segmentDepth(words, segment & 0xffff));
      slot += width - (slot % width);
      if (!visit(segment)) return; // it may free the segment
    }
  }

  /** Forgets all segments, without freeing them. */
  clear(): void {
    this.rows = 0;
    this.segmentBytesMax = SEGMENT_BYTES_FULL;
    this.#depth = 0;
    this.#slots = NO_SLOTS;
    this.#root = 0;
    this.#segmentsByDepth = undefined;
  }

  #count(depth: number, change: number): void {
    this.#segmentsByDepth ??= [1];
    this.#segmentsByDepth[depth] = (this.#segmentsByDepth[depth] ?? 0) + change;
  }

  #widen(): void {
    const slots = new Int32Array(2 ** (this.#depth + 1));
    for (let slot = 0; slot < slots.length; slot += 1) slots[slot] = this.segmentAt(slot >>> 1);
    this.#slots = slots;
    this.#depth += 1;
  }

  #narrow(): void {
    this.#root = this.#slots[0] as number;
    const slots = this.#depth === 1 ? NO_SLOTS : new Int32Array(2 ** (this.#depth - 1));
    for (let slot = 0; slot < slots.length; slot += 1) {
      slots[slot] = this.#slots[2 * slot] as number;
    }
    this.#slots = slots;
    this.#depth -= 1;
  }
}
