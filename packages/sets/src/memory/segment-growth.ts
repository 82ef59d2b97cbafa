// Makes room in a full segment: it becomes larger, or two.
//
// Up to 4 KiB it doubles, then it is divided by the next bit of its hashes. So an insert moves the pairs of
// one segment at most, and no insert waits for a large rehash.
//
// A client can search for members whose hashes begin alike. Dividing would then make the directory large
// and part nothing. So the directory has at most one slot per 32 rows, a segment is divided only when
// both parts get a fair share, and one that may not be divided grows on.
import type { ElementHeap } from './element-heap.js';
import {
  addToSegment,
  createSegment,
  PAIR_BYTES,
  rowsMaxOf,
  SEGMENT_BYTES_FULL,
  segmentBytes,
  segmentDepth,
  segmentRows,
  segmentSlots,
} from './segment.js';
import type { SegmentDirectory } from './segment-directory.js';

/** Hashes that are spread evenly bring five times as many before the directory must grow. */
const ROWS_PER_SLOT_MIN = 32;
/** Dividing is worth it when the smaller part gets an eighth of the rows. */
const SMALLER_PART_MIN = 1 / 8;

/** `high` is a hash word of the segment's range, of a row that is about to be added. */
export function makeRoom(directory: SegmentDirectory, segment: number, high: number): void {
  const words = directory.heap.words[segment >>> 16] as Int32Array;
  const at = segment & 0xffff;
  const bytes = segmentBytes(words, at);
  if (bytes >= SEGMENT_BYTES_FULL && mayDivide(directory, words, at))
    divide(directory, segment, high);
  else resizeSegment(directory, segment, { high, bytes: 2 * bytes });
}

/** Moves the pairs of a segment into one of another size and the same range. */
export function resizeSegment(
  directory: SegmentDirectory,
  segment: number,
  to: { readonly high: number; readonly bytes: number },
): void {
  const { heap } = directory;
  const words = heap.words[segment >>> 16] as Int32Array;
  const depth = segmentDepth(words, segment & 0xffff);
  const resized = createSegment(heap, to.bytes, depth);
  directory.segmentBytesMax = Math.max(directory.segmentBytesMax, to.bytes);
  movePairs(heap, segment, resized, resized);
  directory.replace(to.high, depth, resized);
}

/**
 * Moves all pairs into one of two segments, by the last bit of their depth, and frees the first. Both may be
 * the same segment.
 */
export function movePairs(heap: ElementHeap, from: number, lower: number, upper: number): void {
  const words = heap.words[from >>> 16] as Int32Array;
  const at = from & 0xffff;
  const lowerWords = heap.words[lower >>> 16] as Int32Array;
  const upperWords = heap.words[upper >>> 16] as Int32Array;
  const shift = 32 - segmentDepth(upperWords, upper & 0xffff);
  const end = at + 2 + 2 * segmentSlots(words, at);
  for (let pair = at + 2; pair < end; pair += 2) {
    const row = words[pair + 1] as number;
    if (row === 0) continue;
    const high = words[pair] as number;
    if (((high >>> shift) & 1) === 0) addToSegment(lowerWords, lower & 0xffff, high, row);
    else addToSegment(upperWords, upper & 0xffff, high, row);
  }
  heap.free(from);
}

function mayDivide(directory: SegmentDirectory, words: Int32Array, at: number): boolean {
  const depth = segmentDepth(words, at);
  const needsSlots = depth === directory.depth;
  if (needsSlots && 2 ** (depth + 1) * ROWS_PER_SLOT_MIN > directory.rows) return false;
  const rows = segmentRows(words, at);
  const upper = countUpper(words, at);
  return Math.min(upper, rows - upper) >= rows * SMALLER_PART_MIN;
}

/** Rows whose next bit is set. */
function countUpper(words: Int32Array, at: number): number {
  const shift = 31 - segmentDepth(words, at);
  const end = at + 2 + 2 * segmentSlots(words, at);
  let upper = 0;
  for (let pair = at + 2; pair < end; pair += 2) {
    if (words[pair + 1] !== 0) upper += ((words[pair] as number) >>> shift) & 1;
  }
  return upper;
}

function divide(directory: SegmentDirectory, segment: number, high: number): void {
  const { heap } = directory;
  const words = heap.words[segment >>> 16] as Int32Array;
  const at = segment & 0xffff;
  const depth = segmentDepth(words, at) + 1;
  const upperRows = countUpper(words, at);
  const lowerRows = segmentRows(words, at) - upperRows;
  const lower = createSegment(heap, bytesFor(lowerRows), depth);
  const upper = createSegment(heap, bytesFor(upperRows), depth);
  movePairs(heap, segment, lower, upper);
  directory.divide(high, depth, lower, upper);
}

/** Leaves room for one more row at least. */
function bytesFor(rows: number): number {
  let bytes = SEGMENT_BYTES_FULL;
  while (rowsMaxOf(bytes / PAIR_BYTES - 1) <= rows) bytes *= 2;
  return bytes;
}
