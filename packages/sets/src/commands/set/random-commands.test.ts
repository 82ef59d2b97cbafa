import { createSeededRandom } from '@syncline/kernel/testing';
import { afterEach, expect, test, vi } from 'vitest';
import type { Pin } from '../../keyspace.js';
import { PlainKeyspace } from '../../testing/plain-keyspace.js';
import { Load, turnLimits } from '../load.js';
import { CommandRig, wordsOf } from '../testing/command-rig.js';
import { RememberedMembers } from './algebra.js';
import { drawMembers, pickMembers } from './random-commands.js';

const MEMBERS = 40;
const ROUNDS = 2_000;
/** Chi-square with 39 degrees of freedom exceeds this once in a million. */
const CHI_SQUARE_MAX = 98;
const set = Buffer.from('set');
const random = createSeededRandom('picks');

afterEach(() => {
  vi.restoreAllMocks();
});

test.each([2, 5, 20, 39])(
  'S15 each member is as likely as any other among %d different picks',
  (count) => expectUniformPicks(count),
);

test('S15 they are equally likely even if memory for picks runs out half way', async () => {
  const add = RememberedMembers.prototype.add;
  vi.spyOn(RememberedMembers.prototype, 'add').mockImplementation(function (
    this: RememberedMembers,
    member,
  ) {
    if (this.has(member)) return 'present';
    return this.size < 4 ? add.call(this, member) : 'full';
  });
  await expectUniformPicks(9);
});

async function expectUniformPicks(count: number): Promise<void> {
  const pin = pinned();
  const hits = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const picked = await allOf(pickMembers(pin, set, count, random));
    expect(picked.length).toBe(count);
    expect(new Set(picked).size).toBe(count);
    for (const member of picked) hits.set(member, (hits.get(member) ?? 0) + 1);
  }
  expect(chiSquare(hits, (ROUNDS * count) / MEMBERS)).toBeLessThan(CHI_SQUARE_MAX);
}

test('S15 each member is as likely as any other in draws that may repeat', async () => {
  const hits = new Map<string, number>();
  const drawn = await allOf(drawMembers(pinned(), set, ROUNDS));
  expect(drawn.length).toBe(ROUNDS);
  for (const member of drawn) hits.set(member, (hits.get(member) ?? 0) + 1);
  expect(chiSquare(hits, ROUNDS / MEMBERS)).toBeLessThan(CHI_SQUARE_MAX);
});

test('as many picks as there are members return each of them once', async () => {
  const picked = await allOf(pickMembers(pinned(), set, MEMBERS, random));
  expect(new Set(picked).size).toBe(MEMBERS);
});

test.each([
  ['SRANDMEMBER', '4096', 10, false],
  ['SRANDMEMBER', '4097', 10, true],
  ['SRANDMEMBER', '-4096', 10, false],
  ['SRANDMEMBER', '-4097', 10, true],
  ['SRANDMEMBER', '256', 60_000, true],
  ['SPOP', '65536', 10, false],
  ['SPOP', '65537', 10, true],
  ['SPOP', '50', 60_000, false],
  ['SPOP', '60', 60_000, true],
])(
  'S19 %s %s of members of %i bytes takes longer than a turn: %s',
  (name, count, bytes, isLong) => {
    class Pretended extends PlainKeyspace {
      override cardinality(): number {
        return 100_000;
      }

      override memberBytes(): number {
        return 100_000 * bytes;
      }
    }
    const keyspace = new Pretended({ random });
    const rig = new CommandRig({ keyspace });
    const load = new Load(keyspace, turnLimits);
    rig.command(name).estimate?.(rig.context([name, 'k', count]), load);
    expect(load.isTooMuch).toBe(isLong);
  },
);

test('SPOP of more than a reply may hold is refused, and nothing is popped', async () => {
  const rig = new CommandRig();
  await rig.send('SADD', 'k', 'a', 'b', 'c');
  rig.keyspace.memberBytes = () => 3 * 20 * 1024 * 1024;
  expect(await rig.text('SPOP', 'k', '2')).toBe(
    'ERR result is larger than 32 MiB, pop fewer members at once',
  );
  expect(rig.keyspace.cardinality(wordsOf('k'), 0)).toBe(3);
});

function pinned(): Pin {
  const keyspace = new PlainKeyspace({ random });
  const members = Array.from({ length: MEMBERS }, (_, number) => `m${number}`);
  keyspace.add(wordsOf('set', ...members), 0, 1);
  return keyspace.openPin([set]);
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
