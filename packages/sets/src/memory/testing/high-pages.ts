// A heap in which block numbers are negative, as they are beyond 32 GiB.
import { ElementHeap } from '../element-heap.js';

/** A heap whose pages have numbers from 40,000 on, so that its block numbers are negative. */
export function createHeapWithHighPages(): ElementHeap {
  const heap = new ElementHeap();
  const noWords = new Int32Array(0);
  while (heap.words.length < 40_000) heap.words.push(noWords);
  return heap;
}
