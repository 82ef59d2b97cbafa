import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from '../../byte-list.js';
import { PlainKeyspace } from '../../testing/plain-keyspace.js';
import { drawRepeatedly, type PickedSet, pickDifferent } from './random-picks.js';

const MEMBERS = 40;
const ROUNDS = 2_000;
/** Chi-square with 39 degrees of freedom exceeds this once in a million. */
const CHI_SQUARE_MAX = 98;

test.each([2, 5, 20, 39])(
  'S15 each member is as likely as any other among %d different picks',
  async (count) => {
    const from = await createSet();
    const hits = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const picked = await allOf(pickDifferent(from, count));
      expect(new Set(picked).size).toBe(count);
      for (const member of picked) hits.set(member, (hits.get(member) ?? 0) + 1);
    }
    expect(chiSquare(hits, (ROUNDS * count) / MEMBERS)).toBeLessThan(CHI_SQUARE_MAX);
  },
);

test('S15 each member is as likely as any other in draws that may repeat', async () => {
  const hits = new Map<string, number>();
  const drawn = await allOf(drawRepeatedly(await createSet(), ROUNDS));
  expect(drawn.length).toBe(ROUNDS);
  for (const member of drawn) hits.set(member, (hits.get(member) ?? 0) + 1);
  expect(chiSquare(hits, ROUNDS / MEMBERS)).toBeLessThan(CHI_SQUARE_MAX);
});

test('more different picks than there are members gives each of them once', async () => {
  const picked = await allOf(pickDifferent(await createSet(), MEMBERS * 2));
  expect(picked.length).toBe(MEMBERS);
  expect(new Set(picked).size).toBe(MEMBERS);
});

async function createSet(): Promise<PickedSet> {
  const random = createSeededRandom('picks');
  const keyspace = new PlainKeyspace({ random });
  const members = Array.from({ length: MEMBERS }, (_, number) => Buffer.from(`m${number}`));
  const set = Buffer.from('set');
  keyspace.add(ByteList.of(set, ...members), 0, 1);
  return { view: await keyspace.openView(), set, random };
}

async function allOf(batches: AsyncIterable<readonly Uint8Array[]>): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const batch of batches) for (const one of batch) all.push(Buffer.from(one).toString());
  return all;
}

function chiSquare(hits: ReadonlyMap<string, number>, expected: number): number {
  const missing = (MEMBERS - hits.size) * expected;
  return [...hits.values()].reduce((sum, hit) => sum + (hit - expected) ** 2 / expected, missing);
}
