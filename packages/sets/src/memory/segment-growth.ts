// Makes room in a full segment: it becomes larger, or two.
//
// Up to 4 KiB it doubles, then it is divided by the next bit of its hashes. So an insert moves the pairs of
// one segment at most, and no insert waits for a large rehash.
//
// Members may come in the order of their positions: one who copies a set page by page sends them so. Then all
// rows of a segment lie in one half of its range; it gives the other half away, to a tiny segment, and
// goes on with the next bit. A client can also search for members whose hashes begin alike, where
// dividing would make the directory large and part nothing. So the directory has at most one slot per 32
// rows, and a segment that may not be divided grows on. Of n rows that come in order none of them then
// shares a segment with more than about the square root of 32 n.
import type { ElementHeap } from './element-heap.js';
import {
  addToSegment,
  createSegment,
  deepenSegment,
  isSegmentFull,
  PAIR_BYTES,
  rowsMaxOf,
  SEGMENT_BYTES_FULL,
  SEGMENT_BYTES_MIN,
  segmentBytes,
  segmentDepth,
  segmentRows,
  segmentSlots,
} from './segment.js';
import type { SegmentDirectory } from './segment-directory.js';

/** Hashes that are spread evenly bring five times as many before the directory must grow. */
const ROWS_PER_SLOT_MIN = 32;
/** With so few rows a segment starts small: large ones with next to nothing in them would cost too much. */
const FEW_ROWS = 64;

/** `high` is a hash word of the segment's range, of a row that is about to be added. */
export function makeRoom(directory: SegmentDirectory, segment: number, high: number): void {
  for (let full = segment; isFull(directory, full); full = directory.segmentOf(high)) {
    const words = directory.heap.words[full >>> 16] as Int32Array;
    const bytes = segmentBytes(words, full & 0xffff);
    if (bytes >= SEGMENT_BYTES_FULL && mayDivide(directory, segmentDepth(words, full & 0xffff)))
      divide(directory, full, high);
    else resizeSegment(directory, full, { high, bytes: 2 * bytes });
  }
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

function isFull({ heap }: SegmentDirectory, segment: number): boolean {
  return isSegmentFull(heap.words[segment >>> 16] as Int32Array, segment & 0xffff);
}

function mayDivide(directory: SegmentDirectory, depth: number): boolean {
  const needsSlots = depth === directory.depth;
  return !needsSlots || 2 ** (depth + 1) * ROWS_PER_SLOT_MIN <= directory.rows;
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
  if (upperRows === 0 || lowerRows === 0) {
    const other = createSegment(heap, SEGMENT_BYTES_MIN, depth);
    deepenSegment(words, at);
    if (upperRows === 0) directory.divide(high, depth, segment, other);
    else directory.divide(high, depth, other, segment);
    return;
  }
  const lower = createSegment(heap, bytesFor(lowerRows), depth);
  const upper = createSegment(heap, bytesFor(upperRows), depth);
  movePairs(heap, segment, lower, upper);
  directory.divide(high, depth, lower, upper);
}

/** Leaves room for one more row at least. */
function bytesFor(rows: number): number {
  let bytes = rows < FEW_ROWS ? SEGMENT_BYTES_MIN : SEGMENT_BYTES_FULL;
  while (rowsMaxOf(bytes / PAIR_BYTES - 1) <= rows) bytes *= 2;
  return bytes;
}
