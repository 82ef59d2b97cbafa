import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ElementHeap, wordOf } from './element-heap.js';
import { createHeapWithHighPages } from './testing/high-pages.js';

const sizes = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 600 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 65_568 }) },
  { weight: 1, arbitrary: fc.integer({ min: 80_000, max: 1_200_000 }) },
);
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('allocate' as const), bytes: sizes }),
    fc.record({ kind: fc.constant('free' as const), pick: fc.nat() }),
  ),
  { maxLength: 120 },
);
const heaps = { 'low pages': () => new ElementHeap(), 'high pages': createHeapWithHighPages };

test.each(Object.entries(heaps))(
  'no two blocks share a byte, and all that is freed is counted: %s',
  (name, createHeap) => {
    fc.assert(
      fc.property(steps, (taken) => {
        const heap = createHeap();
        const blocks: { block: number; bytes: number; mark: number }[] = [];
        for (const [index, step] of taken.entries()) {
          if (step.kind === 'allocate') {
            const block = heap.allocate(step.bytes);
            expect(Math.sign(block)).toBe(name === 'low pages' ? 1 : -1);
            expect(blockBytesOf(heap, block)).toBeGreaterThanOrEqual(step.bytes);
            blocks.push({ block, bytes: step.bytes, mark: (index % 250) + 1 });
            bytesOf(heap, block, step.bytes).fill((index % 250) + 1);
          } else if (blocks.length > 0) {
            const [freed] = blocks.splice(step.pick % blocks.length, 1);
            if (freed !== undefined) heap.free(freed.block);
          }
        }
        const used = blocks.reduce((sum, { block }) => sum + blockBytesOf(heap, block), 0);
        expect(heap.usedBytes).toBe(used);
        for (const { block, bytes, mark } of blocks) {
          expect(bytesOf(heap, block, bytes).every((byte) => byte === mark)).toBe(true);
          heap.free(block);
        }
        expect(heap.usedBytes).toBe(0);
      }),
      { numRuns: 60 },
    );
  },
);

function blockBytesOf(heap: ElementHeap, block: number): number {
  return 4 * (heap.blockWords[block >>> 16] ?? 0);
}

function bytesOf(heap: ElementHeap, block: number, bytes: number): Uint8Array {
  const start = 4 * wordOf(block);
  return heap.bytes[block >>> 16]?.subarray(start, start + bytes) ?? new Uint8Array(0);
}
