// Gives back the memory of segments that have become nearly empty: two neighbours are joined, and the last
// one left becomes smaller.
//
// A segment is joined at an eighth of its slots and is then at most three fifths full: many rows come or go
// before it is divided or joined again.
import {
  createSegment,
  isSegmentNearlyEmpty,
  SEGMENT_BYTES_FULL,
  SEGMENT_BYTES_MIN,
  segmentBytes,
  segmentDepth,
  segmentRows,
} from './segment.js';
import type { SegmentDirectory } from './segment-directory.js';
import { movePairs, resizeSegment } from './segment-growth.js';

const JOINED_ROWS_MAX = 300;

/** `high` is the hash word of a row that was removed. */
export function releaseRoom(directory: SegmentDirectory, high: number): void {
  const { heap } = directory;
  for (;;) {
    const segment = directory.segmentOf(high);
    const words = heap.words[segment >>> 16] as Int32Array;
    const at = segment & 0xffff;
    const bytes = segmentBytes(words, at);
    const depth = segmentDepth(words, at);
    if (depth > 0 && bytes <= SEGMENT_BYTES_FULL) {
      if (!joinWithNeighbour(directory, segment, high)) return;
    } else {
      if (!isSegmentNearlyEmpty(words, at) || bytes === SEGMENT_BYTES_MIN) return;
      resizeSegment(directory, segment, { high, bytes: bytes / 2 });
    }
  }
}

/** Gives false when the two stay as they are. */
function joinWithNeighbour(directory: SegmentDirectory, segment: number, high: number): boolean {
  const { heap } = directory;
  const words = heap.words[segment >>> 16] as Int32Array;
  const depth = segmentDepth(words, segment & 0xffff);
  const neighbour = directory.segmentOf(high ^ (2 ** (32 - depth)));
  const neighbourWords = heap.words[neighbour >>> 16] as Int32Array;
  if (segmentDepth(neighbourWords, neighbour & 0xffff) !== depth) return false;
  const rows =
    segmentRows(words, segment & 0xffff) + segmentRows(neighbourWords, neighbour & 0xffff);
  if (rows > JOINED_ROWS_MAX) return false;
  const joined = createSegment(heap, SEGMENT_BYTES_FULL, depth - 1);
  movePairs(heap, segment, joined, joined);
  movePairs(heap, neighbour, joined, joined);
  directory.join(high, depth - 1, joined);
  return true;
}
