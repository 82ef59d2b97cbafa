// Draws a row so that each is equally likely, however unevenly segments are filled.
//
// A draw is a slot of the directory and the number of a pair. A segment that fills several slots gives each
// pair to one of them, by the last bits of both numbers. So every row belongs to exactly one draw, all
// draws are equally likely, and one that hits no row is repeated. About every second hits; when hashes
// are so uneven that most miss, the row is counted off instead, which is as fair.
import { type Random, randomBelow } from '@syncline/kernel';
import { PAIR_BYTES, segmentBytes, segmentDepth, segmentRows, slotsOfBlock } from './segment.js';
import type { SegmentDirectory } from './segment-directory.js';

const DRAWS_MAX = 256;
/** The first pair of a segment is no slot. */
const HEAD_PAIR = 0;

/** There must be a row. */
export function drawRow(directory: SegmentDirectory, random: Random): number {
  const { heap } = directory;
  const pairsMask = largestSegmentBytes(directory) / PAIR_BYTES - 1;
  for (let draws = 0; draws < DRAWS_MAX; draws += 1) {
    const slot = directory.depth === 0 ? 0 : random.u32() >>> (32 - directory.depth);
    const pair = random.u32() & pairsMask;
    const segment = directory.segmentAt(slot);
    if (pair === HEAD_PAIR || pair > slotsOfBlock(heap, segment)) continue;
    const words = heap.words[segment >>> 16] as Int32Array;
    const at = segment & 0xffff;
    const row = words[at + 2 * pair + 1] as number;
    if (row === 0) continue;
    const slotsOfSegment = 1 << (directory.depth - segmentDepth(words, at));
    if (((pair ^ slot) & (slotsOfSegment - 1)) === 0) return row;
  }
  return countOff(directory, randomBelow(random, directory.rows));
}

/** A power of two, as the size of every segment is. */
function largestSegmentBytes(directory: SegmentDirectory): number {
  if (directory.depth > 0) return directory.segmentBytesMax;
  const root = directory.segmentAt(0);
  return segmentBytes(directory.heap.words[root >>> 16] as Int32Array, root & 0xffff);
}

/** The row with this number, in the order of segments and slots. */
function countOff(directory: SegmentDirectory, number: number): number {
  let left = number;
  let found = 0;
  directory.walk(0, (segment) => {
    const words = directory.heap.words[segment >>> 16] as Int32Array;
    const at = segment & 0xffff;
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
