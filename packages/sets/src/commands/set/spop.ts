// SPOP key [count]: takes random members away and shows them. The picks are made here; other nodes are told
// what was removed, not that something was popped.
import type { ByteList } from '../../byte-list.js';
import { setsLimits } from '../../limits.js';
import type { Reply } from '../../resp/reply.js';
import { ByteCollector } from '../byte-collector.js';
import { ChangeBuffer } from '../change-buffer.js';
import type { Command, CommandContext } from '../command.js';
import { errorTexts } from '../errors.js';
import { integerWord } from '../integer-word.js';
import { withGate, withView, writeBulks } from '../long-work.js';
import { refusesKeys } from '../name-limits.js';
import { inOneOperation } from '../one-operation.js';
import { walksNothing, walksPart } from '../walks.js';
import { pickDifferent } from './random-picks.js';

export const spop: Command = {
  name: 'spop',
  arity: -2,
  flags: ['write', 'fast'],
  group: 'set',
  syntax: 'key [count]',
  summary: 'Takes random members out of a set and shows them.',
  difference:
    'Members of more than 32 MiB together are refused: pop fewer at once. With several nodes it is not exclusive: two may pop the same member.',
  keys: { first: 1, last: 1, step: 1 },
  walks(args) {
    const count = countOf(args);
    if (typeof count === 'string') return walksNothing;
    const fits = count > setsLimits.turnMembersMax.value ? 'set-at-hand' : 'any-set';
    return walksPart(args, { key: 1, members: count, repeats: false, removes: true, fits });
  },
  run({ args, keyspace, reply }) {
    const count = countOf(args);
    if (typeof count === 'string') return reply.error(count);
    if (refusesKeys(args, reply, 1)) return;
    const popped = Math.min(count, keyspace.cardinality(args, 1));
    if (args.length === 2 && popped === 1) {
      keyspace.pop(args, 1, 1, (buffer, start, end) => reply.bulk(buffer, start, end));
      return;
    }
    // The answer comes last: a change that is too large for one operation must leave none behind.
    const words = new ByteCollector();
    if (popped > 0) {
      inOneOperation(keyspace, () => {
        keyspace.pop(args, 1, popped, (buffer, start, end) => void words.push(buffer, start, end));
      });
    }
    writeHeader(args, reply, popped);
    for (let index = 0; index < words.list.length; index += 1) reply.bulkOf(words.list, index);
  },
  async runLong(context, signal) {
    const { args, reply } = context;
    const count = countOf(args);
    if (typeof count === 'string') return reply.error(count);
    if (refusesKeys(args, reply, 1)) return;
    const popped = await popLong(context, count, signal);
    if (popped === undefined) return reply.error(errorTexts.popTooLarge);
    // Only now, as a slow client must not keep the gate closed.
    writeHeader(args, reply, popped.length);
    await writeBulks(context, popped);
  },
};

/** How many to pop, 1 if it is not said; a text is the error to answer with. */
function countOf(args: ByteList): number | string {
  if (args.length === 2) return 1;
  if (args.length > 3) return errorTexts.syntax;
  const count = integerWord(args, 2);
  return count === undefined || count < 0 ? errorTexts.notPositive : count;
}

/** Without a count the answer is one member or null, else a list. */
function writeHeader(args: ByteList, reply: Reply, popped: number): void {
  if (args.length > 2) reply.set(popped);
  else if (popped === 0) reply.nullBulk();
}

/** Undefined: too large to be held for the answer. Then nothing is popped. */
function popLong(
  { args, keyspace, facts }: CommandContext,
  count: number,
  signal: AbortSignal,
): Promise<ByteList | undefined> {
  const set = args.bytes(1);
  return withGate(keyspace, signal, async (hold) => {
    const words = new ByteCollector();
    const isWithin = await withView(keyspace, signal, async (view) => {
      for await (const batch of pickDifferent({ view, set, random: facts.random }, count)) {
        for (const member of batch) words.pushBytes(member);
        if (words.bytes > setsLimits.resultBytesMax.value) return false;
        await keyspace.breathe();
      }
      return true;
    });
    if (!isWithin) return undefined;
    const { list } = words;
    const changes = new ChangeBuffer({ keyspace, hold });
    for (let index = 0; index < list.length; index += 1)
      await changes.push('remove', set, list.bytes(index));
    await changes.finish();
    return list;
  });
}
