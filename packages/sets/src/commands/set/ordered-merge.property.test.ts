import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeOrdered, type SetRule } from './ordered-merge.js';

const members = fc.uniqueArray(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 3 }));
const sets = fc.array(members, { minLength: 1, maxLength: 4 });
const rules = fc.constantFrom<SetRule>('union', 'intersection', 'difference');
const batchSizes = fc.integer({ min: 1, max: 5 });

test('a merge of ordered streams gives what plain sets give, in order and each member once', async () => {
  await fc.assert(
    fc.asyncProperty(rules, sets, batchSizes, async (rule, lists, batchSize) => {
      const streams = lists.map((list) => stream(inOrder(list), batchSize));
      const merged: string[] = [];
      for await (const batch of mergeOrdered(rule, { streams, positionOf })) {
        merged.push(...batch.map((member) => Buffer.from(member).toString()));
      }
      expect(merged).toEqual(inOrder(plainResult(rule, lists)));
    }),
    { numRuns: 500 },
  );
});

test('who leaves a merge early closes its streams', async () => {
  let closed = 0;
  async function* endless() {
    try {
      for (let number = 0; ; number += 1) yield [Buffer.from(String(number).padStart(9, '0'))];
    } finally {
      closed += 1;
    }
  }
  const input = { streams: [endless(), endless()], positionOf: () => 0 };
  for await (const _ of mergeOrdered('union', input)) break;
  expect(closed).toBe(2);
});

/** Few positions, so that bytes must tell many members apart. */
function positionOf(member: Uint8Array): number {
  return member.reduce((sum, byte) => sum + byte, 0) % 3;
}

function inOrder(list: readonly string[]): readonly string[] {
  return list.toSorted((one, other) => {
    const [left, right] = [Buffer.from(one), Buffer.from(other)];
    return positionOf(left) - positionOf(right) || Buffer.compare(left, right);
  });
}

async function* stream(list: readonly string[], batchSize: number) {
  yield [];
  for (let from = 0; from < list.length; from += batchSize)
    yield list.slice(from, from + batchSize).map((member) => Buffer.from(member));
}

function plainResult(rule: SetRule, lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists;
  switch (rule) {
    case 'union':
      return [...new Set(lists.flat())];
    case 'intersection':
      return first.filter((member) => others.every((list) => list.includes(member)));
    case 'difference':
      return first.filter((member) => !others.some((list) => list.includes(member)));
  }
}
