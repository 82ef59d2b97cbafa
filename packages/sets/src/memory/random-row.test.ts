import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
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

/** Sum of squared distances from what is expected, in standard deviations of a fair draw. */
function unfairness(table: MemberTable, drawsPerRow: number): number {
  const random = createSeededRandom('draws');
  const hits = new Map<number, number>();
  table.forEach((row) => {
    hits.set(row, 0);
  });
  for (let draw = 0; draw < drawsPerRow * table.size; draw += 1) {
    const row = table.randomRow(random);
    hits.set(row, (hits.get(row) ?? Number.NaN) + 1);
  }
  let chiSquare = 0;
  for (const count of hits.values()) chiSquare += (count - drawsPerRow) ** 2 / drawsPerRow;
  const freedom = table.size - 1;
  return (chiSquare - freedom) / Math.sqrt(2 * freedom);
}

const spread = (number: number) => Math.imul(number + 1, 0x9e37_79b1) >>> 0;

describe('S15 each row is drawn as often as any other', () => {
  test.each<[string, number, (number: number) => number]>([
    ['two rows', 2, spread],
    ['one small segment', 13, spread],
    ['one segment that is nearly full', 410, spread],
    ['segments of even depth', 3_000, spread],
    ['segments of very different depth', 3_000, (number) => spread(number) >>> (number % 9)],
    [
      'one segment larger than the others',
      3_000,
      (number) => (number % 2 === 0 ? 7 : spread(number)),
    ],
    ['one hash for all', 1_500, () => 0xffff_ffff],
  ])('%s', (_name, count, highOf) => {
    expect(Math.abs(unfairness(tableOf(count, highOf), 40))).toBeLessThan(4);
  });

  test('where most draws miss and rows are counted off', () => {
    const table = tableOf(60_000, spread);
    const kept = new Set<number>();
    table.scan(0, 350, (row) => kept.add(row));
    const others: number[] = [];
    table.forEach((row) => {
      if (!kept.has(row)) others.push(row);
    });
    for (const row of others) table.delete(row);
    expect(table.size).toBeLessThan(360);
    expect(Math.abs(unfairness(table, 20))).toBeLessThan(4);
  });
});

test('there must be a row to draw', () => {
  const table = new MemberTable(new ElementHeap());
  expect(() => table.randomRow(createSeededRandom(1))).toThrow('there is a row to draw');
});
