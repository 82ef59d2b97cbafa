// Members of a set that is wholly in memory, drawn at random.
//
// A table also holds rows of members that were removed and are not folded yet. They are drawn like all
// others and passed over, so what is left is uniform over the members. Where most rows would be passed
// over, or most members are wanted, all members are listed and shuffled instead.
import { type Random, randomBelow } from '@syncline/kernel';
import type { MemberTable } from './memory/member-table.js';
import { ROW_ACTOR, readWord } from './memory/row-layout.js';
import type { MemorySet } from './state/memory-set.js';

/** Up to so many draws per pick are cheaper than a list of all. */
const DRAWS_PER_PICK_MAX = 8;

export function isPresent(table: MemberTable, row: number): boolean {
  return readWord(table.heap, row, ROW_ACTOR) !== 0;
}

/** Rows of all members, in no order. */
export function presentRows({ table }: MemorySet): number[] {
  const rows: number[] = [];
  table.forEach((row) => {
    if (isPresent(table, row)) rows.push(row);
  });
  return rows;
}

/** `count` different members, or all of them in random order. */
export function sampleRows(set: MemorySet, count: number, random: Random): readonly number[] {
  const { table, cardinality } = set;
  const wanted = Math.min(count, cardinality);
  const isSparse = table.size > DRAWS_PER_PICK_MAX * (cardinality - wanted + 1);
  if (isSparse) return shuffledPart(presentRows(set), wanted, random);
  const picked = new Set<number>();
  while (picked.size < wanted) {
    const row = table.randomRow(random);
    if (isPresent(table, row)) picked.add(row);
  }
  return [...picked];
}

/** `count` members of a set that is not empty, each drawn from all. */
export function drawRows(set: MemorySet, count: number, random: Random): readonly number[] {
  const { table, cardinality } = set;
  const rows: number[] = [];
  if (table.size > DRAWS_PER_PICK_MAX * cardinality) {
    const present = presentRows(set);
    while (rows.length < count) rows.push(present[randomBelow(random, present.length)] ?? 0);
    return rows;
  }
  while (rows.length < count) {
    const row = table.randomRow(random);
    if (isPresent(table, row)) rows.push(row);
  }
  return rows;
}

/** The first `count` of the rows after a fair shuffle. Changes the list. */
function shuffledPart(rows: number[], count: number, random: Random): readonly number[] {
  for (let place = 0; place < count; place += 1) {
    const other = place + randomBelow(random, rows.length - place);
    const row = rows[other] ?? 0;
    rows[other] = rows[place] ?? 0;
    rows[place] = row;
  }
  return rows.slice(0, count);
}
