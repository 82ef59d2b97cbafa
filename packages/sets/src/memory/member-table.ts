// The elements of one set in memory: finds the row of a member by its position and its bytes.
//
// Members are looked up in place, in the bytes of a command, and nothing is allocated that the garbage
// collector would have to trace. Rows of the same position, which honest hashes almost never produce, are
// told apart by their bytes. How the index grows and shrinks is described in segment-directory.ts.
//
// There are three ways through a table: `walk` and `forEach` visit segments in the order of positions but
// the rows of a segment in no order; `scan` sorts the rows of one segment at a time; `randomRow` draws.
// `walk` and `scan` resume from a hash, so rows may come and go between two calls: a row that stays is
// visited exactly once.
import { assert, type Random, randomBelow } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import { type ElementHeap, wordOf } from './element-heap.js';
import {
  compareRows,
  isMemberEqual,
  ROW_ACTOR,
  ROW_COUNTER_HIGH,
  ROW_COUNTER_LOW,
  ROW_HASH_HIGH,
  ROW_HASH_LOW,
  ROW_HEADER_WORDS,
  ROW_MEMBER_BYTES,
  ROW_TOUCH,
  readWord,
  rowPosition,
  writeMember,
} from './element-row.js';
import { AHEAD_MAX, type PositionWords } from './order-hash.js';
import { homeSlot, segmentDepth, segmentRows, segmentSlots, slotsOfBlock } from './segment.js';
import { SegmentDirectory } from './segment-directory.js';

/** Honest hashes miss at most seven draws of eight, so this many misses do not happen by chance. */
const DRAWS_MAX = 128;
/** Pairs that `fetch` looks at. */
const FETCH_PROBES = 8;
/** Used within one call of `fetch`. */
const FETCH_PAGES = new Int32Array(AHEAD_MAX);
const FETCH_PAIRS = new Int32Array(AHEAD_MAX);
const FETCH_ENDS = new Int32Array(AHEAD_MAX);
const FETCH_ROWS = new Int32Array(AHEAD_MAX);
/** The compiler may drop reads whose result is not stored. */
const FETCHED = new Int32Array(1);

export type VisitRow = (row: number) => void;

export class MemberTable {
  readonly heap: ElementHeap;
  readonly #directory: SegmentDirectory;
  #blockBytes = 0;

  constructor(heap: ElementHeap) {
    this.heap = heap;
    this.#directory = new SegmentDirectory(heap);
  }

  get size(): number {
    return this.#directory.rows;
  }

  get bytes(): number {
    return this.#blockBytes + this.#directory.bytes;
  }

  /** The row of a member; 0 if there is none. */
  find(hash: PositionWords, list: ByteList, index: number): number {
    const { view } = list;
    const start = list.start(index);
    const memberBytes = list.end(index) - start;
    const high = (hash[0] as number) | 0;
    const segment = this.#directory.segmentOf(high);
    if (segment === 0) return 0;
    const words = this.heap.words[segment >>> 16] as Int32Array;
    const at = wordOf(segment);
    const slots = slotsOfBlock(this.heap, segment);
    let slot = homeSlot(high, slots);
    for (;;) {
      const row = words[at + 3 + 2 * slot] as number;
      if (row === 0) return 0;
      if (words[at + 2 + 2 * slot] === high) {
        const rowWords = this.heap.words[row >>> 16] as Int32Array;
        const rowAt = wordOf(row);
        if (
          rowWords[rowAt + ROW_HASH_LOW] === hash[1] &&
          rowWords[rowAt + ROW_MEMBER_BYTES] === memberBytes &&
          isMemberEqual(rowWords, rowAt, view, start)
        ) {
          return row;
        }
      }
      slot = slot + 1 === slots ? 0 : slot + 1;
    }
  }

  /**
   * Reads what `find` will read for at most AHEAD_MAX members with these upper hash words. A lookup waits for main
   * memory twice, for the slot and for the row; here the processor waits for all slots together, then for all rows.
   * It can wait for many at once only in a loop of a few instructions without unpredictable branches, so the places
   * to read are collected first. A row may lie in two cache lines. The result is of no use.
   */
  fetch(highs: Int32Array, count: number): number {
    assert(count <= AHEAD_MAX, 'at most 16 members are fetched at once');
    const pages = this.heap.words;
    for (let index = 0; index < count; index += 1) {
      const high = highs[index] as number;
      const segment = this.#directory.segmentOf(high);
      if (segment === 0) return 0;
      const slots = slotsOfBlock(this.heap, segment);
      const slot = homeSlot(high, slots);
      const pair = wordOf(segment) + 2 + 2 * slot;
      FETCH_PAGES[index] = segment >>> 16;
      FETCH_PAIRS[index] = pair;
      FETCH_ENDS[index] = pair + 2 * Math.min(slots - slot, FETCH_PROBES);
    }
    let read = 0;
    for (let index = 0; index < count; index += 1) {
      const words = pages[FETCH_PAGES[index] as number] as Int32Array;
      read ^= words[FETCH_PAIRS[index] as number] as number;
    }
    let found = 0;
    for (let index = 0; index < count; index += 1) {
      const words = pages[FETCH_PAGES[index] as number] as Int32Array;
      const end = FETCH_ENDS[index] as number;
      for (let pair = FETCH_PAIRS[index] as number; pair < end; pair += 2) {
        if (words[pair] !== highs[index]) continue;
        FETCH_ROWS[found] = words[pair + 1] as number;
        if (FETCH_ROWS[found] !== 0) found += 1; // 0: the slot is empty, and the hash is 0
        break;
      }
    }
    for (let index = 0; index < found; index += 1) {
      const row = FETCH_ROWS[index] as number;
      const words = pages[row >>> 16] as Int32Array;
      read ^= (words[wordOf(row)] as number) ^ (words[wordOf(row) + ROW_HEADER_WORDS] as number);
    }
    return read;
  }

  /**
   * Copies a member that is not in the table into a new row whose other words are 0. Throws
   * `limit-exceeded` and changes nothing if the heap is exhausted.
   */
  insert(hash: PositionWords, list: ByteList, index: number): number {
    const memberBytes = list.sizeOf(index);
    const usedBefore = this.heap.usedBytes;
    const row = this.heap.allocate(4 * ROW_HEADER_WORDS + memberBytes);
    const words = this.heap.words[row >>> 16] as Int32Array;
    const at = wordOf(row);
    words[at + ROW_HASH_HIGH] = hash[0] as number;
    words[at + ROW_HASH_LOW] = hash[1] as number;
    words[at + ROW_MEMBER_BYTES] = memberBytes;
    words[at + ROW_TOUCH] = 0;
    words[at + ROW_ACTOR] = 0;
    words[at + ROW_COUNTER_HIGH] = 0;
    words[at + ROW_COUNTER_LOW] = 0;
    writeMember(words, at, list.view, list.start(index));
    try {
      this.#directory.add((hash[0] as number) | 0, row);
    } catch (error) {
      this.heap.free(row);
      throw error;
    } finally {
      this.#blockBytes += this.heap.usedBytes - usedBefore;
    }
    return row;
  }

  delete(row: number): void {
    const usedBefore = this.heap.usedBytes;
    this.#directory.remove(readWord(this.heap, row, ROW_HASH_HIGH), row);
    this.heap.free(row);
    this.#blockBytes += this.heap.usedBytes - usedBefore;
  }

  /** Visits every row once, in no order. `visit` must not change the table, but it may free the row. */
  forEach(visit: VisitRow): void {
    this.walk(0, Number.POSITIVE_INFINITY, visit);
  }

  /**
   * Visits the rows of whole segments, in no order, from hash word `high` (unsigned) on, until at least
   * `rowsMax` rows were visited. Returns the hash word to continue from, 2^32 at the end. `visit` must not
   * change the table; between two calls it may change.
   */
  walk(high: number, rowsMax: number, visit: VisitRow): number {
    let visited = 0;
    let next = 2 ** 32;
    if (high >= next) return next;
    this.#directory.walk(high, (segment, end) => {
      const words = this.heap.words[segment >>> 16] as Int32Array;
      const at = wordOf(segment);
      const slots = segmentSlots(words, at);
      FETCHED[0] = this.#fetchRows(words, at, slots);
      for (let pair = slots; pair > 0; pair -= 1) {
        const row = words[at + 2 * pair + 1] as number;
        if (row === 0 || (words[at + 2 * pair] as number) >>> 0 < high) continue;
        visit(row);
        visited += 1;
      }
      if (visited < rowsMax) return true;
      next = end;
      return false;
    });
    return next;
  }

  /**
   * Visits rows by position, then by the bytes of the member, from a position on: at least `count`, if
   * there are that many; rows of equal positions are never separated. Returns the position to continue
   * from, 0 at the end. `visit` must not change the table; between two calls it may change.
   */
  scan(position: number, count: number, visit: VisitRow): number {
    const highMin = Math.floor(position / 0x1_0000);
    let visited = 0;
    let last = -1;
    let next = 0;
    this.#directory.walk(highMin, (segment) => {
      for (const row of orderedRows(this.heap, segment, highMin)) {
        const found = rowPosition(this.heap, row);
        if (found < position) continue;
        if (visited >= count && found !== last) {
          next = last + 1;
          return false;
        }
        visit(row);
        visited += 1;
        last = found;
      }
      return true;
    });
    return next;
  }

  /**
   * Draws a row; all are exactly equally likely, however unevenly the segments are filled. The table must
   * not be empty.
   *
   * A random hash word selects a segment of depth d with probability 2^-d, then one of its p pairs is
   * drawn. A row is accepted with probability p * 2^d / density, so each row has the same chance in every
   * draw: 1 / density. Hashes spread rows evenly, whatever the order in which they arrived, so about every
   * second draw succeeds. If a client has concentrated rows in a few ranges, or the table has shrunk, most
   * draws fail. A row is then chosen by counting instead.
   */
  randomRow(random: Random): number {
    assert(this.size > 0, 'there is a row to draw');
    const directory = this.#directory;
    const { density } = directory;
    for (let draws = 0; draws < DRAWS_MAX; draws += 1) {
      const segment = directory.segmentOf(directory.depth === 0 ? 0 : random.u32());
      const words = this.heap.words[segment >>> 16] as Int32Array;
      const at = wordOf(segment);
      const slots = slotsOfBlock(this.heap, segment);
      const pair = random.u32() & slots; // the number of pairs is a power of two
      if (pair === 0) continue; // the header
      const row = words[at + 2 * pair + 1] as number;
      if (row === 0) continue;
      const excess = density / (slots + 1) / 2 ** segmentDepth(words, at);
      if (excess === 1 || random.float() * excess < 1) return row;
    }
    directory.measure();
    return this.#rowByNumber(randomBelow(random, this.size));
  }

  /**
   * Rows are scattered over the heap. Reading them together makes a walk wait for main memory a few times instead of
   * once per row.
   */
  #fetchRows(words: Int32Array, at: number, slots: number): number {
    let read = 0;
    for (let pair = 1; pair <= slots; pair += 1) {
      const row = words[at + 2 * pair + 1] as number;
      if (row !== 0)
        read ^= readWord(this.heap, row, 0) ^ readWord(this.heap, row, ROW_HEADER_WORDS);
    }
    return read;
  }

  clear(): void {
    this.forEach((row) => {
      this.heap.free(row);
    });
    this.#directory.clear();
    this.#blockBytes = 0;
  }

  /** The row with this number, in the order of segments and slots. */
  #rowByNumber(number: number): number {
    let left = number;
    let found = 0;
    this.#directory.walk(0, (segment) => {
      const words = this.heap.words[segment >>> 16] as Int32Array;
      const at = wordOf(segment);
      if (left >= segmentRows(words, at)) {
        left -= segmentRows(words, at);
        return true;
      }
      for (let pair = at + 2; found === 0; pair += 2) {
        const row = words[pair + 1] as number;
        if (row === 0) continue;
        if (left === 0) found = row;
        left -= 1;
      }
      return false;
    });
    return found;
  }
}

/** The rows of a segment from a hash word on, in the order of a scan. */
function* orderedRows(heap: ElementHeap, segment: number, highMin: number): Generator<number> {
  const words = heap.words[segment >>> 16] as Int32Array;
  const at = wordOf(segment);
  const pairs = segmentSlots(words, at) + 1;
  const keys = sortedKeys(words, at, highMin);
  const rowAt = (index: number) => words[at + 2 * ((keys[index] as number) % pairs) + 1] as number;
  for (let start = 0, end = 0; start < keys.length; start = end) {
    const highEnd = (Math.floor((keys[start] as number) / pairs) + 1) * pairs;
    for (end = start + 1; end < keys.length && (keys[end] as number) < highEnd; ) end += 1;
    if (end === start + 1) {
      yield rowAt(start);
    } else {
      const twins = Array.from({ length: end - start }, (_, index) => rowAt(start + index));
      yield* twins.sort((left, right) => compareRows(heap, left, right));
    }
  }
}

/**
 * One sortable number per pair from a hash word on: the hash word without the bits that all pairs share,
 * then the number of the pair. Together they need 53 bits at most: only a deep segment has many pairs.
 */
function sortedKeys(words: Int32Array, at: number, highMin: number): Float64Array {
  const depth = segmentDepth(words, at);
  const slots = segmentSlots(words, at);
  const keys = new Float64Array(segmentRows(words, at));
  let count = 0;
  for (let pair = slots; pair > 0; pair -= 1) {
    const high = words[at + 2 * pair] as number;
    if (words[at + 2 * pair + 1] === 0 || high >>> 0 < highMin) continue;
    keys[count] = ((high << depth) >>> depth) * (slots + 1) + pair;
    count += 1;
  }
  return keys.subarray(0, count).sort();
}
