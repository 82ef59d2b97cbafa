// The elements of one set in memory: finds the row of a member by its position and its bytes.
//
// Members are looked up where they lie in a command; nothing is allocated that the garbage collector would
// have to walk. Rows of one position, which honest hashes almost never give, are told apart by their bytes.
// How the index grows and shrinks is said in segment-growth.ts and segment-decay.ts.
import { assert, type Random } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type { ElementHeap } from './element-heap.js';
import { isMemberEqual, writeMember } from './member-bytes.js';
import type { PositionWords } from './order-hash.js';
import { scanRows } from './ordered-scan.js';
import { drawRow } from './random-row.js';
import {
  ROW_ACTOR,
  ROW_COUNTER_HIGH,
  ROW_COUNTER_LOW,
  ROW_HASH_HIGH,
  ROW_HASH_LOW,
  ROW_HEAD,
  ROW_HEADER_WORDS,
  ROW_MEMBER_BYTES,
  ROW_TOUCH,
  readWord,
} from './row-layout.js';
import {
  addToSegment,
  createSegment,
  homeSlot,
  isSegmentFull,
  isSegmentNearlyEmpty,
  removeFromSegment,
  SEGMENT_BYTES_MIN,
  segmentSlots,
  slotsOfBlock,
} from './segment.js';
import { releaseRoom } from './segment-decay.js';
import { SegmentDirectory } from './segment-directory.js';
import { makeRoom } from './segment-growth.js';

export type VisitRow = (row: number) => void;

export class MemberTable {
  readonly heap: ElementHeap;
  readonly #directory: SegmentDirectory;
  /** Bytes of blocks of the heap. */
  #blockBytes = 0;

  constructor(heap: ElementHeap) {
    this.heap = heap;
    this.#directory = new SegmentDirectory(heap);
  }

  /** Rows. */
  get size(): number {
    return this.#directory.rows;
  }

  /** Bytes of the rows and of the index. */
  get bytes(): number {
    return this.#blockBytes + this.#directory.bytes;
  }

  /** The row of a member; 0 when there is none. */
  find(hash: PositionWords, list: ByteList, index: number): number {
    return this.findBytes(hash, list.view, list.start(index), list.end(index));
  }

  findBytes(hash: PositionWords, view: DataView, start: number, end: number): number {
    const high = (hash[0] as number) | 0;
    const segment = this.#directory.segmentOf(high);
    if (segment === 0) return 0;
    const words = this.heap.words[segment >>> 16] as Int32Array;
    const at = segment & 0xffff;
    const slots = slotsOfBlock(this.heap, segment);
    let slot = homeSlot(high, slots);
    for (;;) {
      const row = words[at + 3 + 2 * slot] as number;
      if (row === 0) return 0;
      if (words[at + 2 + 2 * slot] === high) {
        const rowWords = this.heap.words[row >>> 16] as Int32Array;
        const rowAt = row & 0xffff;
        if (
          rowWords[rowAt + ROW_HASH_LOW] === hash[1] &&
          rowWords[rowAt + ROW_MEMBER_BYTES] === end - start &&
          isMemberEqual(rowWords, rowAt, view, start)
        ) {
          return row;
        }
      }
      slot = slot + 1 === slots ? 0 : slot + 1;
    }
  }

  /** Copies a member that is not in the table into a new row whose other words are 0. */
  insert(hash: PositionWords, list: ByteList, index: number): number {
    return this.insertBytes(hash, list.view, list.start(index), list.end(index));
  }

  insertBytes(hash: PositionWords, view: DataView, start: number, end: number): number {
    const usedBefore = this.heap.usedBytes;
    const row = this.heap.allocate(4 * ROW_HEADER_WORDS + end - start);
    const words = this.heap.words[row >>> 16] as Int32Array;
    const at = row & 0xffff;
    words[at + ROW_HASH_HIGH] = hash[0] as number;
    words[at + ROW_HASH_LOW] = hash[1] as number;
    words[at + ROW_MEMBER_BYTES] = end - start;
    words[at + ROW_HEAD] = 0;
    words[at + ROW_TOUCH] = 0;
    words[at + ROW_ACTOR] = 0;
    words[at + ROW_COUNTER_HIGH] = 0;
    words[at + ROW_COUNTER_LOW] = 0;
    writeMember(words, at, view, start);
    this.#index((hash[0] as number) | 0, row);
    this.#blockBytes += this.heap.usedBytes - usedBefore;
    return row;
  }

  /** Takes a row out and frees it. */
  delete(row: number): void {
    const usedBefore = this.heap.usedBytes;
    const high = readWord(this.heap, row, ROW_HASH_HIGH);
    const segment = this.#directory.segmentOf(high);
    const words = this.heap.words[segment >>> 16] as Int32Array;
    const wasThere = segment !== 0 && removeFromSegment(words, segment & 0xffff, high, row);
    assert(wasThere, 'the row belongs to the table');
    this.heap.free(row);
    this.#directory.rows -= 1;
    if (this.#directory.rows === 0) this.#freeSegments();
    else if (isSegmentNearlyEmpty(words, segment & 0xffff)) releaseRoom(this.#directory, high);
    this.#blockBytes += this.heap.usedBytes - usedBefore;
  }

  /** Every row once, in no order. The table must not change meanwhile. */
  forEach(visit: VisitRow): void {
    this.#directory.walk(0, (segment) => {
      const words = this.heap.words[segment >>> 16] as Int32Array;
      const at = segment & 0xffff;
      for (let pair = segmentSlots(words, at); pair > 0; pair -= 1) {
        const row = words[at + 2 * pair + 1] as number;
        if (row !== 0) visit(row);
      }
      return true;
    });
  }

  /**
   * Rows by position, then by the bytes of the member, from a position on: at least `count`, if there are as
   * many; equal positions are never parted. Gives the position to go on from, 0 at the end. `visit` must
   * not change the table; between two calls it may change.
   */
  scan(position: number, count: number, visit: VisitRow): number {
    return scanRows(this.#directory, { position, count }, visit);
  }

  /** Exactly uniform over all rows. The table must not be empty. */
  randomRow(random: Random): number {
    assert(this.size > 0, 'there is a row to draw');
    return drawRow(this.#directory, random);
  }

  /** Frees all rows. */
  clear(): void {
    this.forEach((row) => {
      this.heap.free(row);
    });
    this.#freeSegments();
    this.#blockBytes = 0;
  }

  #index(high: number, row: number): void {
    const directory = this.#directory;
    let segment = directory.segmentOf(high);
    if (segment === 0) {
      segment = createSegment(this.heap, SEGMENT_BYTES_MIN, 0);
      directory.replace(high, 0, segment);
    } else if (isSegmentFull(this.heap.words[segment >>> 16] as Int32Array, segment & 0xffff)) {
      makeRoom(directory, segment, high);
      segment = directory.segmentOf(high);
    }
    addToSegment(this.heap.words[segment >>> 16] as Int32Array, segment & 0xffff, high, row);
    directory.rows += 1;
  }

  #freeSegments(): void {
    this.#directory.walk(0, (segment) => {
      this.heap.free(segment);
      return true;
    });
    this.#directory.clear();
  }
}
