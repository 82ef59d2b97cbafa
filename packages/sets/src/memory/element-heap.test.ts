import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { createSizeClasses, ElementHeap, PAGE_BYTES, unitsOf, wordOf } from './element-heap.js';

test('every size has a block that holds it and is hardly larger', () => {
  const { blockBytes, classOfUnits } = createSizeClasses();
  const isFit = (bytes: number, block: number) => {
    if (bytes <= 512) return block - bytes < 16;
    return block <= bytes * (bytes <= 65_600 ? 1.15 : 1.51);
  };
  for (let bytes = 1; bytes <= PAGE_BYTES / 2; bytes += 1) {
    const block = blockBytes[classOfUnits[unitsOf(bytes)] ?? 0] ?? 0;
    if (block < bytes || block % 16 !== 0 || !isFit(bytes, block)) {
      expect.unreachable(`a block of ${block} for ${bytes} bytes`);
    }
  }
});

test('powers of two are size classes that fill a page', () => {
  const { blockBytes } = createSizeClasses();
  for (let bytes = 16; bytes <= PAGE_BYTES / 2; bytes *= 2) {
    expect(blockBytes).toContain(bytes);
    expect(PAGE_BYTES % bytes).toBe(0);
  }
});

test('an empty page serves another size', () => {
  const heap = new ElementHeap();
  const small = Array.from({ length: 3 * (PAGE_BYTES / 64) }, () => heap.allocate(64));
  expect(heap.reservedBytes).toBe(3 * PAGE_BYTES);
  for (const block of small) heap.free(block);
  expect(heap.usedBytes).toBe(0);
  for (let count = 0; count < 3 * (PAGE_BYTES / 4_096); count += 1) heap.allocate(4_096);
  expect(heap.reservedBytes).toBe(3 * PAGE_BYTES);
});

test('a small heap keeps at most 16 empty pages and reuses the numbers of the others', () => {
  const heap = new ElementHeap();
  const fill = () => Array.from({ length: 2 * 30 }, () => heap.allocate(PAGE_BYTES / 2));
  for (const block of fill()) heap.free(block);
  expect([heap.usedBytes, heap.reservedBytes]).toEqual([0, 16 * PAGE_BYTES]);
  expect(heap.words.filter((words) => words.length > 0)).toHaveLength(16);
  expect(new Set(fill()).size).toBe(60);
  expect([heap.words.length, heap.reservedBytes]).toEqual([31, 30 * PAGE_BYTES]);
});

test('a large heap drops slabs whose pages are all empty', () => {
  const heap = new ElementHeap();
  const blocks = Array.from({ length: 2 * 200 }, () => heap.allocate(PAGE_BYTES / 2));
  expect(heap.reservedBytes).toBe(200 * PAGE_BYTES);
  const pagesCount = heap.words.length;
  for (const block of blocks) heap.free(block);
  expect(heap.reservedBytes).toBeLessThan((16 + 40) * PAGE_BYTES);
  expect(heap.reservedBytes).toBeGreaterThanOrEqual(16 * PAGE_BYTES);
  for (let count = 0; count < 2 * 190; count += 1) heap.allocate(PAGE_BYTES / 2);
  expect(heap.words.length).toBe(pagesCount);
});

test('a large block gets a page of its own and gives it back', () => {
  const heap = new ElementHeap();
  const first = heap.allocate(PAGE_BYTES + 1);
  expect(heap.words[first >>> 16]?.length).toBe((PAGE_BYTES + 16) / 4);
  expect([heap.usedBytes, heap.reservedBytes]).toEqual([PAGE_BYTES + 16, PAGE_BYTES + 16]);
  heap.free(first);
  expect([heap.usedBytes, heap.reservedBytes]).toEqual([0, 0]);
  expect(heap.allocate(2 * PAGE_BYTES)).toBe(first);
});

test('the last block of a page starts in its last unit', () => {
  const heap = new ElementHeap();
  const blocks = Array.from({ length: PAGE_BYTES / 16 }, () => heap.allocate(16));
  expect(wordOf(blocks.at(-1) ?? 0)).toBe(PAGE_BYTES / 4 - 4);
  expect(heap.reservedBytes).toBe(PAGE_BYTES);
});

test('the default capacity is more than 32 GiB', () => {
  expect(new ElementHeap().capacityBytes).toBeGreaterThan(32 * 2 ** 30);
});

test('a heap at its capacity refuses more until blocks are freed', () => {
  const heap = new ElementHeap(3 * PAGE_BYTES);
  const blocks = Array.from({ length: 6 }, () => heap.allocate(PAGE_BYTES / 2));
  for (const bytes of [16, PAGE_BYTES / 2, PAGE_BYTES]) {
    const refused = expect(() => heap.allocate(bytes));
    refused.toThrow(expect.objectContaining({ code: 'limit-exceeded', retryable: false }));
  }
  expect([heap.usedBytes, heap.reservedBytes]).toEqual([3 * PAGE_BYTES, 3 * PAGE_BYTES]);
  for (const block of blocks.slice(4)) heap.free(block);
  expect(heap.allocate(16)).not.toBe(0);
});

test('memory that the system refuses is reported as a limit', () => {
  const heap = new ElementHeap();
  expect(() => heap.allocate(2 ** 35)).toThrow(SynclineError);
  expect(heap.reservedBytes).toBe(0);
});

test('a block is freed once', () => {
  const heap = new ElementHeap();
  const block = heap.allocate(100);
  heap.free(block);
  expect(() => heap.free(block)).toThrow('a block is freed once');
});
