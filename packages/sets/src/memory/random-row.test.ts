import type { Random } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ElementHeap } from './element-heap.js';
import { MemberTable } from './member-table.js';

/** Members are numbers of four bytes; `highOf` plants where they lie. */
function tableOf(count: number, highOf: (number: number) => number): MemberTable {
  const table = new MemberTable(new ElementHeap());
  const view = new DataView(new ArrayBuffer(4));
  for (let number = 0; number < count; number += 1) {
    view.setUint32(0, number);
    table.insertBytes(Uint32Array.of(highOf(number), number & 0xffff), view, 0, 4);
  }
  return table;
}

const spread = (number: number) => Math.imul(number + 1, 0x9e37_79b1) >>> 0;

interface Shape {
  readonly table: MemberTable;
  /** At least as many as the directory has; 1: the table has one segment and draws no slot. */
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
    table: tableOf(3_000, (number) => (number % 2 === 0 ? 7 : spread(number))),
    slots: 128,
    pairs: 4_096,
  },
};

const MISSED = new Error('the draw has hit no row');

/** Gives these numbers, then no more. */
function scripted(...numbers: readonly number[]): Random {
  let given = 0;
  const u32 = () => {
    const next = numbers[given];
    given += 1;
    if (next === undefined) throw MISSED;
    return next;
  };
  return { u32, float: () => Number.NaN, bytes: () => new Uint8Array(0) };
}

/** How many of all possible draws give each row. */
function hitsByRow(table: MemberTable, draws: Iterable<readonly number[]>): Map<number, number> {
  const hits = new Map<number, number>();
  for (const numbers of draws) {
    try {
      const row = table.randomRow(scripted(...numbers));
      hits.set(row, (hits.get(row) ?? 0) + 1);
    } catch (error) {
      if (error !== MISSED) throw error;
    }
  }
  return hits;
}

/** The upper bits of the first number are a slot, the lower bits of the second a pair. */
function* everyDraw({ slots, pairs }: Shape): Generator<readonly number[]> {
  for (let pair = 0; pair < pairs; pair += 1) {
    if (slots === 1) yield [pair];
    else for (let slot = 0; slot < slots; slot += 1) yield [slot * (2 ** 32 / slots), pair];
  }
}

test.each(Object.entries(shapes))('S15 equally many draws give each row: %s', (_name, shape) => {
  const hits = hitsByRow(shape.table, everyDraw(shape));
  expect(hits.size).toBe(shape.table.size);
  expect(new Set(hits.values()).size).toBe(1);
});

test.each(Object.entries(shapes))('S15 chi-square of drawn rows: %s', (_name, { table }) => {
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
});

test('S15 where all draws miss, a row is counted off, each by one number', () => {
  const table = tableOf(1_000, (number) => spread(number) >>> (number % 3));
  const misses = new Array<number>(2 * 256).fill(0);
  const numbers = Array.from({ length: table.size }, (_, number) => [...misses, number]);
  const hits = hitsByRow(table, numbers);
  expect(hits.size).toBe(table.size);
});

test('there must be a row to draw', () => {
  const table = new MemberTable(new ElementHeap());
  expect(() => table.randomRow(createSeededRandom(1))).toThrow('there is a row to draw');
});
