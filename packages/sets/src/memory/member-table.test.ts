import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { ElementHeap } from './element-heap.js';
import { MemberTable } from './member-table.js';
import { createOrderKeys, OrderHash } from './order-hash.js';
import { memberBuffer, memberEnd, memberStart } from './row-layout.js';
import { homeSlot } from './segment.js';
import { PAGE_BYTES } from './size-classes.js';

const orderHash = new OrderHash(createOrderKeys('dev').order);
const words = new Uint32Array(2);

function add(table: MemberTable, list: ByteList, index: number): number {
  orderHash.write(list.view, list.start(index), list.end(index), words);
  return table.insert(words, list, index);
}

function find(table: MemberTable, list: ByteList, index: number): number {
  orderHash.write(list.view, list.start(index), list.end(index), words);
  return table.find(words, list, index);
}

/** Members of 20 bytes. */
function membersOf(count: number): ByteList {
  const list = new ByteList(Buffer.alloc(20 * count));
  for (let number = 0; number < count; number += 1) {
    Buffer.from(list.buffer.buffer).write(
      `element:${String(number).padStart(12, '0')}`,
      20 * number,
    );
    list.push(20 * number, 20 * number + 20);
  }
  return list;
}

/** The largest block but for rows, which take 64 bytes each. */
function largestSegmentBytes(heap: ElementHeap): number {
  return 4 * Math.max(...heap.blockWords);
}

test('members of every length are kept, the empty one and the longest too', () => {
  const heap = new ElementHeap();
  const table = new MemberTable(heap);
  const lengths = [...Array.from({ length: 70 }, (_, length) => length), 1_000, 65_535, 65_536];
  // Two of each length, which only differ in their last byte.
  const members = lengths.flatMap((length) => [
    Buffer.alloc(length, 1),
    Buffer.alloc(length, 1).fill(2, Math.max(0, length - 1)),
  ]);
  const list = ByteList.of(...members.slice(1));
  const rows = members.slice(1).map((_, index) => add(table, list, index));
  for (const [index, row] of rows.entries()) {
    expect(find(table, list, index)).toBe(row);
    const bytes = memberBuffer(heap, row).subarray(memberStart(row), memberEnd(heap, row));
    expect(Buffer.compare(bytes, members[index + 1] ?? Buffer.of())).toBe(0);
  }
  for (const row of rows) table.delete(row);
  expect([table.size, table.bytes, heap.usedBytes]).toEqual([0, 0, 0]);
});

test('an element of 20 bytes takes at most 90 in a large set and in many small ones', () => {
  const list = membersOf(20_000);
  const heap = new ElementHeap();
  const large = new MemberTable(heap);
  for (let count = 1; count <= list.length; count += 1) {
    add(large, list, count - 1);
    if (count > 200 && large.bytes > 95 * count) expect.unreachable(`${large.bytes} for ${count}`);
  }
  expect(large.bytes / large.size).toBeLessThan(90);
  expect(heap.usedBytes).toBeLessThanOrEqual(large.bytes);
  const small = Array.from({ length: 1_000 }, () => new MemberTable(heap));
  for (let index = 0; index < list.length; index += 1)
    add(small[index % 1_000] as MemberTable, list, index);
  expect(small.reduce((sum, table) => sum + table.bytes, 0) / list.length).toBeLessThan(90);
});

test('all memory is given back, however a table is emptied', () => {
  const list = membersOf(20_000);
  const heap = new ElementHeap();
  const table = new MemberTable(heap);
  const fill = () => Array.from({ length: list.length }, (_, index) => add(table, list, index));
  for (const row of fill()) table.delete(row);
  expect([table.size, table.bytes, heap.usedBytes]).toEqual([0, 0, 0]);
  const { reservedBytes } = heap;
  fill();
  table.clear();
  expect([table.size, table.bytes, heap.usedBytes]).toEqual([0, 0, 0]);
  expect(find(table, list, 0)).toBe(0);
  // Pages are kept for what comes next.
  expect(heap.reservedBytes).toBeLessThanOrEqual(reservedBytes + PAGE_BYTES);
  const rows = fill();
  for (const row of rows.slice(10)) table.delete(row);
  expect(table.bytes).toBeLessThan(2_000);
});

test.each<[string, (high: number, index: number) => number]>([
  ['24 equal bits', (high) => 0xabcd_ef00 | (high & 0xff)],
  [
    'a sixth parted per bit',
    (high, index) => high >>> (Math.log((index + 1) / 20_001) / Math.log(5 / 6)),
  ],
])('hashes that begin alike neither blow the index up nor stop it: %s', (_name, weaken) => {
  const heap = new ElementHeap();
  const table = new MemberTable(heap);
  const list = membersOf(20_000);
  for (let index = 0; index < list.length; index += 1) {
    orderHash.write(list.view, list.start(index), list.end(index), words);
    words[0] = weaken(words[0] ?? 0, index);
    table.insert(words, list, index);
  }
  expect(table.bytes / table.size).toBeLessThan(100);
  table.clear();
  expect([table.bytes, heap.usedBytes]).toEqual([0, 0]);
});

test('members that come in the order of their positions are indexed as fast as others', () => {
  const heap = new ElementHeap();
  const table = new MemberTable(heap);
  const count = 60_000;
  const list = membersOf(count);
  const position = new Uint32Array(2);
  for (let index = 0; index < count; index += 1) {
    position[0] = index * Math.floor(2 ** 32 / count);
    table.insert(position, list, index);
  }
  expect(largestSegmentBytes(heap)).toBeLessThanOrEqual(32 * 1024);
  expect(table.bytes / table.size).toBeLessThan(90);
  let visited = 0;
  table.scan(0, count, () => {
    visited += 1;
  });
  expect(visited).toBe(count);
});

test('a segment of any size spreads its rows over all of its slots', () => {
  for (const slots of [3, 511, 65_535, 131_071, 2 ** 21 - 1]) {
    const homes = new Set<number>();
    let highest = 0;
    for (let high = 0; high < 4 * 65_536; high += 1) {
      const home = homeSlot(high, slots);
      highest = Math.max(highest, home);
      homes.add(home);
    }
    expect(highest).toBeLessThan(slots);
    expect(homes.size).toBeGreaterThan(0.6 * Math.min(slots, 4 * 65_536));
  }
});

test('a row that is not in the table cannot be deleted from it', () => {
  const heap = new ElementHeap();
  const [table, other] = [new MemberTable(heap), new MemberTable(heap)];
  const list = membersOf(2);
  const row = add(table, list, 0);
  add(other, list, 1);
  expect(() => other.delete(row)).toThrow('the row belongs to the table');
});
