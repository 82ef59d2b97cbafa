import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import type { Pin } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import { PlainKeyspace } from '../../testing/plain-keyspace.js';
import { Load, turnLimits } from '../load.js';
import { CommandRig, wordsOf } from '../testing/command-rig.js';
import { estimateAlgebra, PinnedAlgebra, type SetRule } from './algebra.js';

const turnMembers = setsLimits.turnMembersMax.value;

/** Counts the calls of pins. */
class CountingKeyspace extends PlainKeyspace {
  asked = 0;
  walked: string[] = [];

  constructor() {
    super({ random: createSeededRandom(1) });
  }

  override openPin(sets: readonly Uint8Array[]): Pin {
    const pin = super.openPin(sets);
    return {
      ...pin,
      [Symbol.dispose]: pin.close,
      has: (set, member) => {
        this.asked += 1;
        return pin.has(set, member);
      },
      members: (set) => {
        this.walked.push(Buffer.from(set).toString());
        return pin.members(set);
      },
    };
  }
}

/** `a` is 1 to 10, `b` is 6 to 15, `c` is 1 to 100. */
async function compute(rule: SetRule, words: readonly string[]) {
  const keyspace = new CountingKeyspace();
  const rig = new CommandRig({ keyspace });
  const numbers = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
  for (const [name, from, to] of [
    ['a', 1, 10] as const,
    ['b', 6, 15] as const,
    ['c', 1, 100] as const,
  ])
    await rig.send('SADD', name, ...numbers(from, to));
  const args = wordsOf(...words);
  const deps = { keyspace, pause: () => undefined };
  const members: string[] = [];
  {
    using result = new PinnedAlgebra(rule, deps, { args, from: 0, to: args.length });
    for await (const batch of result.members())
      for (const member of batch) members.push(Buffer.from(member).toString());
    for (const number of numbers(1, 101))
      expect(await result.has(Buffer.from(number))).toBe(members.includes(number));
  }
  expect(keyspace.openPins).toBe(0);
  expect(new Set(members).size, 'each once').toBe(members.length);
  return { size: members.length, walked: keyspace.walked };
}

test.each([
  ['intersection', ['c', 'a', 'b'], 5, ['a']],
  ['intersection', ['c', 'none', 'b'], 0, []],
  ['intersection', ['b', 'b'], 10, ['b']],
  ['difference', ['c', 'a', 'b'], 85, ['c']],
  ['difference', ['a', 'none', 'none'], 10, ['a']],
  ['difference', ['none', 'a'], 0, []],
  ['difference', ['a', 'b', 'a'], 0, []],
  ['union', ['a', 'none', 'b', 'a'], 15, ['a', 'b']],
  ['union', ['a', 'b', 'c'], 100, ['c', 'a', 'b']],
  ['union', ['none'], 0, []],
] as const)('%s of %j has %d members and walks %j', async (rule, words, size, walked) => {
  expect(await compute(rule, words)).toEqual({ size, walked });
});

test('a union of many sets remembers its members instead of checking all earlier sets', async () => {
  const keyspace = new CountingKeyspace();
  const rig = new CommandRig({ keyspace });
  const names = Array.from({ length: 300 }, (_, number) => `set${number}`);
  for (const name of names) await rig.send('SADD', name, 'shared', name);
  const args = wordsOf(...names);
  const deps = { keyspace, pause: () => undefined };
  using result = new PinnedAlgebra('union', deps, { args, from: 0, to: args.length });
  let size = 0;
  for await (const batch of result.members()) size += batch.length;
  expect([size, keyspace.asked]).toEqual([301, 0]);
});

test('more sets than are checked within a slice give the same result', async () => {
  const keyspace = new CountingKeyspace();
  const rig = new CommandRig({ keyspace });
  const names = Array.from({ length: 2_100 }, (_, number) => `set${number}`);
  for (const name of names) keyspace.add(wordsOf(name, 'shared', name), 0, 1);
  let pauses = 0;
  const pause = () => {
    pauses += 1;
    return undefined;
  };
  const args = wordsOf(...names);
  const named = { args, from: 0, to: args.length };
  using result = new PinnedAlgebra('intersection', { keyspace, pause }, named);
  const members: string[] = [];
  for await (const batch of result.members())
    for (const member of batch) members.push(Buffer.from(member).toString());
  expect(members).toEqual(['shared']);
  expect(pauses).toBeGreaterThan(3);
  expect(rig.counted).toEqual([]);
});

test('S20 a set that is filled or emptied after the start does not change the result', async () => {
  const keyspace = new PlainKeyspace({ random: createSeededRandom(1) });
  keyspace.add(wordsOf('full', 'x', 'y'), 0, 1);
  const args = wordsOf('full', 'empty');
  const deps = { keyspace, pause: () => undefined };
  using result = new PinnedAlgebra('union', deps, { args, from: 0, to: args.length });
  keyspace.remove(wordsOf('full', 'x'), 0, 1);
  keyspace.add(wordsOf('empty', 'x'), 0, 1);
  const members: string[] = [];
  for await (const batch of result.members())
    for (const member of batch) members.push(Buffer.from(member).toString());
  expect(members.sort()).toEqual(['x', 'y']);
});

test('as many sets may be named as the limit says', () => {
  const keyspace = new PlainKeyspace({ random: createSeededRandom(1) });
  const max = setsLimits.algebraSetsMax.value;
  const args = wordsOf(...Array.from({ length: max + 1 }, (_, number) => String(number)));
  const open = (to: number) =>
    new PinnedAlgebra('union', { keyspace, pause: () => undefined }, { args, from: 0, to });
  open(max)[Symbol.dispose]();
  expect(() => open(max + 1)).toThrow(`more than ${max} sets`);
});

class PretendedKeyspace extends PlainKeyspace {
  override cardinality(args: ReturnType<typeof wordsOf>, key: number): number {
    return Number(args.text(key));
  }

  override memberBytes(): number {
    return 0;
  }
}

test.each([
  ['intersection', [String(10 ** 9), String(turnMembers / 2 - 1)], false],
  ['intersection', [String(10 ** 9), String(turnMembers / 2)], true],
  ['difference', [String(turnMembers / 2 - 1), String(10 ** 9)], false],
  ['difference', [String(turnMembers), String(10)], true],
  ['union', [String(turnMembers - 10), '5'], false],
  ['union', [String(turnMembers - 10), '11'], true],
] as const)(
  'S19 %s of sets with %j members takes longer than a turn: %s',
  (rule, words, isLong) => {
    const keyspace = new PretendedKeyspace({ random: createSeededRandom(1) });
    const load = new Load(keyspace, turnLimits);
    const args = wordsOf(...words);
    estimateAlgebra(rule, { args, from: 0, to: args.length }, keyspace, load);
    expect(load.isTooMuch).toBe(isLong);
  },
);
