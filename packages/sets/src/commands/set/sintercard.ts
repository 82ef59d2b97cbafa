// SINTERCARD numkeys key [key …] [LIMIT limit]: how many members all sets have, counted up to the limit.
import { assert } from '@syncline/kernel';
import type { ByteList } from '../../byte-list.js';
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';
import { integerWord } from '../integer-word.js';
import { withView } from '../long-work.js';
import { refusesKeys } from '../name-limits.js';
import { isOption } from '../option-word.js';
import { walksNothing, walksSets } from '../walks.js';
import { resultAtHand } from './algebra-at-hand.js';
import { namesOf } from './algebra-commands.js';
import { resultOfView } from './algebra-of-view.js';

const KEYS_FROM = 2;

export const sintercard: Command = {
  name: 'sintercard',
  arity: -3,
  flags: ['readonly', 'movablekeys'],
  group: 'set',
  syntax: 'numkeys key [key ...] [LIMIT limit]',
  summary: 'Tells how many members all of the given sets have.',
  keys: { first: 0, last: 0, step: 0, countAt: 1 },
  walks(args) {
    const words = parse(args);
    return typeof words === 'string' ? walksNothing : walksSets(args, KEYS_FROM, words.keysTo);
  },
  run({ args, keyspace, reply }) {
    const words = parse(args);
    if (typeof words === 'string') {
      reply.error(words);
      return;
    }
    const { keysTo, limit } = words;
    if (refusesKeys(args, reply, KEYS_FROM, keysTo)) return;
    const result = resultAtHand(keyspace, 'intersection', { args, from: KEYS_FROM, to: keysTo });
    assert(result !== undefined, 'what sets at hand have in common is not larger than one of them');
    reply.integer(Math.min(limit, result.list.length - result.membersFrom));
  },
  async runLong({ args, keyspace, reply }, signal) {
    const words = parse(args);
    if (typeof words === 'string') return reply.error(words);
    const { keysTo, limit } = words;
    if (refusesKeys(args, reply, KEYS_FROM, keysTo)) return;
    const names = namesOf(args, KEYS_FROM, keysTo);
    const common = await withView(keyspace, signal, async (view) => {
      let count = 0;
      for await (const batch of resultOfView('intersection', { keyspace, view, names })) {
        count += batch.length;
        if (count >= limit) return limit;
        await keyspace.breathe();
      }
      return count;
    });
    reply.integer(common);
  },
};

interface Words {
  readonly keysTo: number;
  readonly limit: number;
}

/** A text is the error to answer with. */
function parse(args: ByteList): Words | string {
  const keys = integerWord(args, 1);
  if (keys === undefined || keys < 1) return errorTexts.keysCountNotPositive;
  const keysTo = KEYS_FROM + keys;
  if (keysTo > args.length) return errorTexts.keysCountTooLarge;
  let limit = Number.POSITIVE_INFINITY;
  for (let index = keysTo; index < args.length; index += 2) {
    if (!isOption(args, index, 'limit') || index + 1 === args.length) return errorTexts.syntax;
    const value = integerWord(args, index + 1);
    if (value === undefined || value < 0) return errorTexts.limitNegative;
    limit = value === 0 ? Number.POSITIVE_INFINITY : value;
  }
  return { keysTo, limit };
}
