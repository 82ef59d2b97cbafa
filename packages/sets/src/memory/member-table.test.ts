import type { Random } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { ElementHeap, PAGE_BYTES } from './element-heap.js';
import { memberBuffer, memberEnd, memberStart } from './element-row.js';
import { MemberTable } from './member-table.js';
import { AHEAD_MAX, createOrderKeys, OrderHash } from './order-hash.js';
import { homeSlot } from './segment.js';

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

/** The largest block. Rows are smaller: they take 48 bytes each. */
function largestSegmentBytes(heap: ElementHeap): number {
  return 4 * Math.max(...heap.blockWords);
}

test('members of every length are kept, from the empty one to the longest', () => {
  const heap = new ElementHeap();
  const table = new MemberTable(heap);
  const lengths = [...Array.from({ length: 70 }, (_, length) => length), 1_000, 65_535, 65_536];
  // Two of each length that differ only in their last byte.
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

test('an element of 20 bytes takes at most 72 in a large set and 75 in small ones', () => {
  const list = membersOf(20_000);
  const heap = new ElementHeap();
  const large = new MemberTable(heap);
  for (let count = 1; count <= list.length; count += 1) {
    add(large, list, count - 1);
    if (count > 200 && large.bytes > 78 * count) expect.unreachable(`${large.bytes} for ${count}`);
  }
  expect(large.bytes / large.size).toBeLessThan(72);
  expect(heap.usedBytes).toBeLessThanOrEqual(large.bytes);
  const small = Array.from({ length: 1_000 }, () => new MemberTable(heap));
  for (let index = 0; index < list.length; index += 1)
    add(small[index % 1_000] as MemberTable, list, index);
  expect(small.reduce((sum, table) => sum + table.bytes, 0) / list.length).toBeLessThan(75);
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
  expect(heap.reservedBytes).toBeLessThanOrEqual(reservedBytes + PAGE_BYTES);
  const rows = fill();
  for (const row of rows.slice(10)) table.delete(row);
  expect(table.bytes).toBeLessThan(2_000);
});

test.each<[string, (high: number, index: number) => number]>([
  ['24 equal bits', (high) => 0xabcd_ef00 | (high & 0xff)],
  [
    'every bit separates a sixth',
    (high, index) => high >>> (Math.log((index + 1) / 20_001) / Math.log(5 / 6)),
  ],
])('hashes that start alike neither bloat the index nor stop it: %s', (_name, weaken) => {
  const heap = new ElementHeap();
  const table = new MemberTable(heap);
  const list = membersOf(20_000);
  for (let index = 0; index < list.length; index += 1) {
    orderHash.write(list.view, list.start(index), list.end(index), words);
    words[0] = weaken(words[0] ?? 0, index);
    table.insert(words, list, index);
  }
  expect(table.bytes / table.size).toBeLessThan(84);
  table.clear();
  expect([table.bytes, heap.usedBytes]).toEqual([0, 0]);
});

test('members that arrive in the order of their positions are indexed and drawn as fast as others', () => {
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
  expect(table.bytes / table.size).toBeLessThan(72);
  const random = createSeededRandom('draws');
  let numbers = 0;
  const counting: Random = {
    u32: () => {
      numbers += 1;
      return random.u32();
    },
    float: () => random.float(),
    bytes: (size) => random.bytes(size),
  };
  for (let draw = 0; draw < 1_000; draw += 1) table.randomRow(counting);
  expect(numbers).toBeLessThan(2 * 5 * 1_000); // a draw takes two
  let visited = 0;
  table.scan(0, count, () => {
    visited += 1;
  });
  expect(visited).toBe(count);
});

test('a segment of any size spreads its rows over all its slots', () => {
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

test('a walk visits whole segments and returns where the next one starts', () => {
  const table = tableOf(3_000, spread);
  const visits: number[] = [];
  let calls = 0;
  let high = 0;
  while (high < 2 ** 32) {
    const before = visits.length;
    const next = table.walk(high, 500, (row) => visits.push(row));
    expect(next).toBeGreaterThan(high);
    if (next < 2 ** 32) expect(visits.length - before).toBeGreaterThanOrEqual(500);
    high = next;
    calls += 1;
  }
  expect([visits.length, new Set(visits).size]).toEqual([3_000, 3_000]);
  expect(calls).toBeGreaterThan(3);
  expect(table.walk(2 ** 32, 1, () => expect.unreachable())).toBe(2 ** 32);
  expect(new MemberTable(table.heap).walk(0, 1, () => expect.unreachable())).toBe(2 ** 32);
});

/** Members are numbers of four bytes; `highOf` chooses their hash words. */
function tableOf(count: number, highOf: (number: number) => number): MemberTable {
  const table = new MemberTable(new ElementHeap());
  const list = ByteList.of(new Uint8Array(4));
  for (let number = 0; number < count; number += 1) {
    list.view.setUint32(0, number);
    table.insert(Uint32Array.of(highOf(number), number & 0xffff), list, 0);
  }
  return table;
}

function spread(number: number): number {
  return Math.imul(number + 1, 0x9e37_79b1) >>> 0;
}

function shrunk(table: MemberTable, size: number): MemberTable {
  const rows: number[] = [];
  table.walk(0, Number.POSITIVE_INFINITY, (row) => rows.push(row));
  for (const row of rows.slice(size)) table.delete(row);
  return table;
}

interface Shape {
  readonly table: MemberTable;
  /** At least as many as the directory has; 1: the table has one segment and draws no hash word. */
  readonly slots: number;
  /** At least as many as the largest segment has. */
  readonly pairs: number;
}

const shapes: Record<string, Shape> = {
  'two rows': { table: tableOf(2, spread), slots: 1, pairs: 8 },
  'one small segment': { table: tableOf(13, spread), slots: 1, pairs: 32 },
  'one nearly full segment': { table: tableOf(410, spread), slots: 1, pairs: 512 },
  'one hash for all': { table: tableOf(1_500, () => 0xffff_ffff), slots: 64, pairs: 4_096 },
  'segments of one depth': { table: tableOf(3_000, spread), slots: 8, pairs: 512 },
  'segments of several depths': {
    table: tableOf(3_000, (number) => spread(number) >>> (number % 3)),
    slots: 64,
    pairs: 512,
  },
  'one segment larger than others': {
    table: tableOf(1_500, (number) => (number % 2 === 0 ? 7 : spread(number))),
    slots: 32,
    pairs: 1_024,
  },
  'few rows left of many': { table: shrunk(tableOf(20_000, spread), 100), slots: 64, pairs: 512 },
};

/** Returns these numbers, then throws. */
function scripted(numbers: readonly number[], float: number): Random {
  let given = 0;
  const u32 = () => {
    const next = numbers[given];
    given += 1;
    if (next === undefined) throw MISSED;
    return next;
  };
  return { u32, float: () => float, bytes: () => new Uint8Array(0) };
}

const MISSED = new Error('the draw has hit no row');

/** The row of a single draw, or 0. */
function drawOnce(table: MemberTable, numbers: readonly number[], float: number): number {
  try {
    return table.randomRow(scripted(numbers, float));
  } catch (error) {
    if (error !== MISSED) throw error;
    return 0;
  }
}

/** The probability that a row, once drawn, is accepted: a power of two. */
function acceptance(table: MemberTable, numbers: readonly number[]): number {
  let probability = 1;
  while (drawOnce(table, numbers, probability * (1 - Number.EPSILON)) === 0) probability /= 2;
  return probability;
}

/** The upper bits of the first number select a slot, the lower bits of the second one a pair. */
function* everyDraw({ slots, pairs }: Shape): Generator<readonly number[]> {
  for (let pair = 0; pair < pairs; pair += 1) {
    if (slots === 1) yield [pair];
    else for (let slot = 0; slot < slots; slot += 1) yield [slot * (2 ** 32 / slots), pair];
  }
}

test.each(Object.entries(shapes))(
  'S15 a draw is equally likely to hit each row: %s',
  (_name, shape) => {
    const chances = new Map<number, number>();
    for (const numbers of everyDraw(shape)) {
      const row = drawOnce(shape.table, numbers, 0);
      if (row === 0) continue;
      chances.set(row, (chances.get(row) ?? 0) + acceptance(shape.table, numbers));
    }
    expect(chances.size).toBe(shape.table.size);
    expect(new Set(chances.values()).size).toBe(1);
  },
);

test.each(Object.entries(shapes))(
  'S15 drawn rows pass a chi-square test: %s',
  (_name, { table }) => {
    const random = createSeededRandom('draws');
    const hits = new Map<number, number>();
    const perRow = 20;
    for (let draw = 0; draw < perRow * table.size; draw += 1) {
      const row = table.randomRow(random);
      hits.set(row, (hits.get(row) ?? 0) + 1);
    }
    let chiSquare = (table.size - hits.size) * perRow;
    for (const count of hits.values()) chiSquare += (count - perRow) ** 2 / perRow;
    const deviation = Math.sqrt(2 * (table.size - 1));
    expect(Math.abs(chiSquare - (table.size - 1)) / deviation).toBeLessThan(4);
  },
);

test('S15 if all draws miss, a row is chosen by its number', () => {
  const table = tableOf(1_000, (number) => spread(number) >>> (number % 3));
  const misses = new Array<number>(2 * 128).fill(0);
  const rows = new Set<number>();
  for (let number = 0; number < table.size; number += 1) {
    rows.add(table.randomRow(scripted([...misses, number], 0)));
  }
  expect(rows.size).toBe(table.size);
  expect(rows.has(0)).toBe(false);
});

test('an empty table has no row to draw', () => {
  const table = new MemberTable(new ElementHeap());
  expect(() => table.randomRow(createSeededRandom(1))).toThrow('there is a row to draw');
});

test('fetching members changes nothing, whether they are there or not', () => {
  const table = new MemberTable(new ElementHeap());
  const list = membersOf(40_000);
  const highs = new Int32Array(list.length);
  for (let index = 0; index < list.length; index += 1) {
    orderHash.write(list.view, list.start(index), list.end(index), words);
    highs[index] = words[0] ?? 0;
  }
  expect(table.fetch(highs, AHEAD_MAX)).toBe(0);
  expect(() => table.fetch(highs, AHEAD_MAX + 1)).toThrow('at most 16 members are fetched at once');
  const rows = Array.from({ length: 20_000 }, (_, index) => add(table, list, index));
  const { bytes } = table;
  for (let from = 0; from < highs.length; from += AHEAD_MAX) {
    table.fetch(highs.subarray(from), AHEAD_MAX);
  }
  expect([table.size, table.bytes]).toEqual([rows.length, bytes]);
  expect(rows.every((row, index) => find(table, list, index) === row)).toBe(true);
});
