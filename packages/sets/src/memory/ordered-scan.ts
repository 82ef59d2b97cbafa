// Walks rows by position, then by the bytes of their members: the order of their keys in the storage.
//
// A segment holds a range of positions, so only one at a time is sorted. What a scan needs to go on is a
// position, so rows may come and go between two pages: one that stays is met exactly once.
import type { ElementHeap } from './element-heap.js';
import { compareMembers } from './member-bytes.js';
import { rowPosition } from './row-layout.js';
import { segmentRows, segmentSlots } from './segment.js';
import type { SegmentDirectory } from './segment-directory.js';

/** Room for the number of a pair beside a hash word, in the 53 bits that a number holds exactly. */
const PAIRS_MAX = 2 ** 21;

export interface ScanFrom {
  /** 48 bits. */
  readonly position: number;
  /** Rows to visit, if there are as many. */
  readonly count: number;
}

/** Gives the position to go on from, 0 at the end. Rows of equal positions are never parted. */
export function scanRows(
  directory: SegmentDirectory,
  from: ScanFrom,
  visit: (row: number) => void,
): number {
  const { heap } = directory;
  const highMin = Math.floor(from.position / 0x1_0000);
  let visited = 0;
  let last = -1;
  let next = 0;
  directory.walk(highMin, (segment) => {
    for (const row of orderedRows(heap, segment, highMin)) {
      const position = rowPosition(heap, row);
      if (position < from.position) continue;
      if (visited >= from.count && position !== last) {
        next = last + 1;
        return false;
      }
      visit(row);
      visited += 1;
      last = position;
    }
    return true;
  });
  return next;
}

/** The rows of a segment from a hash word on. Only what is taken is looked at. */
function* orderedRows(heap: ElementHeap, segment: number, highMin: number): Generator<number> {
  const words = heap.words[segment >>> 16] as Int32Array;
  const at = segment & 0xffff;
  const keys = sortedKeys(words, at, highMin);
  const rowAt = (index: number) =>
    words[at + 2 * ((keys[index] as number) % PAIRS_MAX) + 1] as number;
  for (let start = 0, end = 0; start < keys.length; start = end) {
    const highEnd = (Math.floor((keys[start] as number) / PAIRS_MAX) + 1) * PAIRS_MAX;
    for (end = start + 1; end < keys.length && (keys[end] as number) < highEnd; ) end += 1;
    if (end === start + 1) {
      yield rowAt(start);
    } else {
      const twins = Array.from({ length: end - start }, (_, index) => rowAt(start + index));
      yield* twins.sort((left, right) => compareRows(heap, left, right));
    }
  }
}

/** Of each pair from a hash word on: the hash word, then the number of the pair. Numbers sort fast. */
function sortedKeys(words: Int32Array, at: number, highMin: number): Float64Array {
  const keys = new Float64Array(segmentRows(words, at));
  let count = 0;
  for (let pair = segmentSlots(words, at); pair > 0; pair -= 1) {
    const high = (words[at + 2 * pair] as number) >>> 0;
    if (words[at + 2 * pair + 1] === 0 || high < highMin) continue;
    keys[count] = high * PAIRS_MAX + pair;
    count += 1;
  }
  return keys.subarray(0, count).sort();
}

function compareRows(heap: ElementHeap, left: number, right: number): number {
  const byPosition = rowPosition(heap, left) - rowPosition(heap, right);
  return byPosition === 0 ? compareMembers(heap, left, right) : byPosition;
}
