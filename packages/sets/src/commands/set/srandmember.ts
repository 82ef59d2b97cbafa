// SRANDMEMBER key [count]: random members; with a negative count they may repeat. However many are asked
// for, they are picked as the client takes them.
import type { ByteList } from '../../byte-list.js';
import { setsLimits } from '../../limits.js';
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';
import { integerWord } from '../integer-word.js';
import { withView, writeBatches } from '../long-work.js';
import { refusesKeys } from '../name-limits.js';
import { walksNothing, walksPart } from '../walks.js';
import { drawRepeatedly, pickDifferent } from './random-picks.js';

export const srandmember: Command = {
  name: 'srandmember',
  arity: -2,
  flags: ['readonly'],
  group: 'set',
  syntax: 'key [count]',
  summary: 'Shows random members of a set.',
  difference: 'A count beyond 2^53 is out of range.',
  keys: { first: 1, last: 1, step: 1 },
  walks(args) {
    const count = countOf(args);
    if (typeof count === 'string') return walksNothing;
    const members = Math.abs(count);
    const repeats = count < 0;
    const isFew = members <= setsLimits.turnPicksMax.value;
    const fits = isFew ? 'short-members' : repeats ? 'transaction' : 'set-at-hand';
    return walksPart(args, { key: 1, members, repeats, removes: false, fits });
  },
  run({ args, keyspace, reply }) {
    const count = countOf(args);
    if (typeof count === 'string') return reply.error(count);
    if (refusesKeys(args, reply, 1)) return;
    const cardinality = keyspace.cardinality(args, 1);
    const isList = args.length > 2;
    if (cardinality === 0) return isList ? reply.array(0) : reply.nullBulk();
    const shown = count < 0 ? -count : Math.min(count, cardinality);
    if (isList) reply.array(shown);
    const show = (buffer: Uint8Array, start: number, end: number) => reply.bulk(buffer, start, end);
    if (count < 0) keyspace.draw(args, 1, shown, show);
    else if (shown > 0) keyspace.sample(args, 1, shown, show);
  },
  async runLong(context, signal) {
    const { args, keyspace, reply, facts } = context;
    const count = countOf(args);
    if (typeof count === 'string') return reply.error(count);
    if (refusesKeys(args, reply, 1)) return;
    const set = args.bytes(1);
    await withView(keyspace, signal, async (view) => {
      const cardinality = view.cardinality(set);
      const isList = args.length > 2;
      if (cardinality === 0) return isList ? reply.array(0) : reply.nullBulk();
      const from = { view, set, random: facts.random };
      if (isList) reply.array(count < 0 ? -count : Math.min(count, cardinality));
      await writeBatches(
        context,
        count < 0 ? drawRepeatedly(from, -count) : pickDifferent(from, count),
      );
    });
  },
};

/** How many to show, 1 if it is not said; a text is the error to answer with. */
function countOf(args: ByteList): number | string {
  if (args.length === 2) return 1;
  if (args.length > 3) return errorTexts.syntax;
  const count = integerWord(args, 2);
  if (count === undefined) return errorTexts.notInteger;
  // No array of so many items can be announced, nor would anybody see its end. Redis has the same error
  // for its own least number.
  return count < -Number.MAX_SAFE_INTEGER ? errorTexts.outOfLongRange : count;
}
