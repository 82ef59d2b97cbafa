// Members may be 64 KiB long, so that a few hundred of them are too much for one turn.
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { PlainKeyspace } from '../testing/plain-keyspace.js';
import { RecordedReply } from '../testing/recorded-reply.js';
import type { CommandContext } from './command.js';
import { srandmember } from './set/srandmember.js';
import { sscan } from './set/sscan.js';
import { planWalk } from './walk-plan.js';
import { walksNothing } from './walks.js';

const listOf = (...words: readonly string[]) =>
  ByteList.of(...words.map((word) => Buffer.from(word, 'latin1')));

function keyspaceWith(memberBytes: number): PlainKeyspace {
  const keyspace = new PlainKeyspace({ random: createSeededRandom(1) });
  const members = Array.from({ length: 100 }, (_, index) => `${index}:`.padEnd(memberBytes, 'x'));
  keyspace.add(listOf('k', ...members), 0, 1);
  return keyspace;
}

test.each([
  [10, 'now'],
  [60_000, 'long'],
])('S19 SRANDMEMBER picks 256 members of %i bytes: %s', (memberBytes, plan) => {
  for (const count of ['256', '-256']) {
    const args = listOf('SRANDMEMBER', 'k', count);
    const walk = srandmember.walks?.(args) ?? walksNothing;
    expect(planWalk(walk, args, keyspaceWith(memberBytes))).toBe(plan);
  }
});

test('S19 large members end a page of SSCAN early', () => {
  const reply = new RecordedReply();
  const args = listOf('SSCAN', 'k', '0', 'COUNT', '100');
  void sscan.run({ args, keyspace: keyspaceWith(60_000), reply } as unknown as CommandContext);
  const shown = JSON.stringify(reply.values).length;
  expect(shown).toBeGreaterThan(60_000);
  expect(shown).toBeLessThan(2 * setsLimits.turnBytesMax.value);
});
