// Names are looked at one by one: a command may bring a million of them.
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from '../../byte-list.js';
import { PlainKeyspace } from '../../testing/plain-keyspace.js';
import { resultOfView } from './algebra-of-view.js';
import type { SetRule } from './ordered-merge.js';

/** Gives the members of the result, and how many names were taken for it. */
async function resultOf(rule: SetRule, words: readonly string[]) {
  const keyspace = new PlainKeyspace({ random: createSeededRandom(1) });
  for (const set of ['a', 'b']) keyspace.add(listOf([set, '1', set]), 0, 1);
  using view = await keyspace.openView();
  let taken = 0;
  const names = function* () {
    for (const word of words) {
      taken += 1;
      yield Buffer.from(word);
    }
  };
  const members: string[] = [];
  for await (const batch of resultOfView(rule, { keyspace, view, names: names() }))
    for (const member of batch) members.push(Buffer.from(member).toString());
  return { members: members.toSorted(), taken };
}

function listOf(words: readonly string[]): ByteList {
  return ByteList.of(...words.map((word) => Buffer.from(word)));
}

test.each([
  ['intersection', ['a', 'none', 'b', 'b'], [], 2],
  ['intersection', ['a', 'a', 'b', 'b'], ['1'], 4],
  ['difference', ['none', 'a', 'b'], [], 1],
  ['difference', ['a', 'b', 'a', 'b'], [], 3],
  ['difference', ['a', 'none', 'b', 'b'], ['a'], 4],
  ['union', ['none', 'a', 'b', 'a'], ['1', 'a', 'b'], 4],
] as const)('%s of %j', async (rule, words, members, taken) => {
  expect(await resultOf(rule, words)).toEqual({ members, taken });
});
