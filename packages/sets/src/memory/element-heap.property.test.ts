import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ElementHeap } from './element-heap.js';

const sizes = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 600 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 65_568 }) },
  { weight: 1, arbitrary: fc.integer({ min: 80_000, max: 200_000 }) },
);
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('allocate' as const), bytes: sizes }),
    fc.record({ kind: fc.constant('free' as const), pick: fc.nat() }),
  ),
  { maxLength: 120 },
);

test('no two blocks share a byte, and all that is freed is counted', () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const heap = new ElementHeap();
      const blocks: { block: number; bytes: number; mark: number }[] = [];
      for (const [index, step] of taken.entries()) {
        if (step.kind === 'allocate') {
          const block = heap.allocate(step.bytes);
          expect(block).toBeGreaterThan(0);
          expect(blockBytesOf(heap, block)).toBeGreaterThanOrEqual(step.bytes);
          blocks.push({ block, bytes: step.bytes, mark: (index % 250) + 1 });
          bytesOf(heap, block, step.bytes).fill((index % 250) + 1);
        } else if (blocks.length > 0) {
          const [gone] = blocks.splice(step.pick % blocks.length, 1);
          if (gone !== undefined) heap.free(gone.block);
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
  );
});

function blockBytesOf(heap: ElementHeap, block: number): number {
  return 4 * (heap.blockWords[block >>> 16] ?? 0);
}

function bytesOf(heap: ElementHeap, block: number, bytes: number): Uint8Array {
  const start = (block & 0xffff) * 4;
  return heap.bytes[block >>> 16]?.subarray(start, start + bytes) ?? new Uint8Array(0);
}
