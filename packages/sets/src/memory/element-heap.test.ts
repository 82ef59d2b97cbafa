import { expect, test } from 'vitest';
import { ElementHeap } from './element-heap.js';
import { createSizeClasses, PAGE_BYTES, stepsOf } from './size-classes.js';

test('every size has a block that holds it and is hardly larger', () => {
  const { blockBytes, classOfSteps } = createSizeClasses(65_568);
  const isFit = (bytes: number, block: number) => {
    if (bytes <= 512) return block - bytes < 16;
    return block <= bytes * (bytes < 40_000 ? 1.2 : 1.34);
  };
  for (let bytes = 1; bytes <= 65_568; bytes += 1) {
    const block = blockBytes[classOfSteps[stepsOf(bytes)] ?? 0] ?? 0;
    if (block < bytes || block % 16 !== 0 || !isFit(bytes, block)) {
      expect.unreachable(`a block of ${block} for ${bytes} bytes`);
    }
  }
});

test('powers of two are sizes of their own and fill a page', () => {
  const { blockBytes } = createSizeClasses(65_568);
  for (let bytes = 16; bytes <= 65_536; bytes *= 2) {
    expect(blockBytes).toContain(bytes);
    expect(PAGE_BYTES % bytes).toBe(0);
  }
});

test('a page that is empty again serves another size', () => {
  const heap = new ElementHeap();
  const small = Array.from({ length: 3 * (PAGE_BYTES / 64) }, () => heap.allocate(64));
  const { reservedBytes } = heap;
  expect(reservedBytes).toBe(3 * PAGE_BYTES);
  for (const block of small) heap.free(block);
  expect(heap.usedBytes).toBe(0);
  for (let count = 0; count < 3 * (PAGE_BYTES / 4_096); count += 1) heap.allocate(4_096);
  expect(heap.reservedBytes).toBe(reservedBytes);
});

test('what no page holds gets its own memory, and gives it back', () => {
  const heap = new ElementHeap();
  const first = heap.allocate(1_000_000);
  expect(heap.words[first >>> 16]?.length).toBe(250_000);
  expect(heap.usedBytes).toBe(1_000_000);
  heap.free(first);
  expect([heap.usedBytes, heap.reservedBytes]).toEqual([0, 0]);
  expect(heap.allocate(2_000_000)).toBe(first);
});

test('a block is freed once', () => {
  const heap = new ElementHeap();
  const block = heap.allocate(100);
  heap.free(block);
  expect(() => heap.free(block)).toThrow('a block is freed once');
});
