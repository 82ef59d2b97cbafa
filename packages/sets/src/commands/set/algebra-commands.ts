// SINTER, SUNION, SDIFF, their STORE forms, and SINTERCARD.
import { assert, SynclineError } from '@syncline/kernel';
import { ByteCollector, type ByteList } from '../../byte-list.js';
import type { Watcher } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import { type Command, type CommandContext, commandsIn, keysToLast } from '../command.js';
import { errorTexts } from '../errors.js';
import {
  ChangeParts,
  inOneOperation,
  pauseUnlessGone,
  withGate,
  writeBulks,
} from '../long-work.js';
import { integerWord, isOption } from '../words.js';
import { estimateAlgebra, PinnedAlgebra, resultInTurn, type SetRule } from './algebra.js';

const define = commandsIn('set');

function algebraCommand(name: string, rule: SetRule, summary: string): Command {
  return define(name, -2, ['readonly'], {
    syntax: 'key [key ...]',
    summary,
    difference: 'A result above 32 MiB is refused; the STORE form has no such limit.',
    keys: keysToLast,
    estimate: ({ args, keyspace }, load) =>
      estimateAlgebra(rule, { args, from: 1, to: args.length }, keyspace, load),
    run({ args, keyspace, reply }) {
      const result = resultInTurn(keyspace, rule, { args, from: 1, to: args.length });
      if (result === undefined) return reply.error(errorTexts.resultTooLarge);
      const { list, membersFrom } = result;
      reply.set(list.length - membersFrom);
      for (let index = membersFrom; index < list.length; index += 1) reply.bulkOf(list, index);
    },
    async runLong({ args, keyspace, reply }, signal) {
      const words = new ByteCollector();
      const pause = pauseUnlessGone(keyspace, signal);
      {
        const deps = { keyspace, pause };
        const named = { args, from: 1, to: args.length };
        using result = new PinnedAlgebra(rule, deps, named);
        for await (const batch of result.members()) {
          for (const member of batch) words.pushBytes(member);
          if (words.bytes > setsLimits.resultBytesMax.value)
            return reply.error(errorTexts.resultTooLarge);
        }
      }
      reply.set(words.list.length);
      await writeBulks(reply, words.list, pause);
    },
  });
}

/** Replaces a set with the result, and returns its size. */
function storeCommand(name: string, rule: SetRule, summary: string): Command {
  return define(name, -3, ['write', 'denyoom'], {
    syntax: 'destination key [key ...]',
    summary,
    difference:
      'A change of more than 65,536 elements or 3 MiB runs as several operations; other clients may see an intermediate state.',
    keys: keysToLast,
    estimate({ args, keyspace }, load) {
      load.readsSet(args, 1);
      estimateAlgebra(rule, { args, from: 2, to: args.length }, keyspace, load);
    },
    run({ args, keyspace, reply }) {
      const result = resultInTurn(keyspace, rule, { args, from: 2, to: args.length });
      if (result === undefined)
        throw new SynclineError('limit-exceeded', 'the result does not fit in one operation');
      const { list, membersFrom } = result;
      inOneOperation(keyspace, () => {
        keyspace.clear(args, 1);
        if (list.length > membersFrom) keyspace.add(list, 0, membersFrom);
      });
      reply.integer(list.length - membersFrom);
    },
    async runLong(context) {
      const { args, keyspace, reply } = context;
      const watcher: Watcher = { isTouched: false };
      for (let key = 1; key < args.length; key += 1) keyspace.watch(args, key, watcher);
      try {
        const ahead = await storeAhead(rule, context);
        const { signal } = new AbortController(); // the requested change is completed, whether or not the client stays
        const stored = await withGate(keyspace, signal, async (hold) => {
          const isValid = ahead !== undefined && !watcher.isTouched;
          const changes = isValid ? ahead.changes : new ChangeParts({ keyspace, hold });
          const count = isValid ? ahead.count : await collectStore(rule, context, changes);
          await changes.finish(hold);
          return count;
        });
        reply.integer(stored);
      } finally {
        keyspace.unwatch(watcher);
      }
    },
  });
}

/**
 * Computes the changes of a STORE while others write: reading large sets can take seconds. They are valid as long as
 * none of its sets has changed. Undefined: they are too large for one operation, and must be applied in between.
 */
async function storeAhead(rule: SetRule, context: CommandContext) {
  const changes = new ChangeParts(context);
  try {
    return { changes, count: await collectStore(rule, context, changes) };
  } catch (thrown) {
    const isTooLarge = thrown instanceof SynclineError && thrown.code === 'limit-exceeded';
    const isPinBroken = thrown instanceof SynclineError && thrown.code === 'overloaded';
    if (isTooLarge || isPinBroken) return undefined;
    throw thrown;
  }
}

async function collectStore(
  rule: SetRule,
  { args, keyspace }: CommandContext,
  changes: ChangeParts,
): Promise<number> {
  const destination = args.bytes(1);
  const deps = { keyspace, pause: () => changes.pause() };
  using result = new PinnedAlgebra(rule, deps, { args, from: 2, to: args.length });
  await changes.removeAll(args, 1, (member) => result.has(member));
  let count = 0;
  for await (const batch of result.members()) {
    for (const member of batch) {
      const pause = changes.push('add', destination, member);
      if (pause !== undefined) await pause;
    }
    count += batch.length;
  }
  return count;
}

const KEYS_FROM = 2;

const sintercard = define('sintercard', -3, ['readonly', 'movablekeys'], {
  syntax: 'numkeys key [key ...] [LIMIT limit]',
  summary: 'Returns the number of members of the intersection of multiple sets.',
  keys: { first: 0, last: 0, step: 0, countAt: 1 },
  estimate({ args, keyspace }, load) {
    const words = readCardWords(args);
    if (typeof words === 'string') return;
    estimateAlgebra('intersection', { args, from: KEYS_FROM, to: words.keysTo }, keyspace, load);
  },
  run({ args, keyspace, reply }) {
    const words = readCardWords(args);
    if (typeof words === 'string') return reply.error(words);
    const { keysTo, limit } = words;
    const result = resultInTurn(keyspace, 'intersection', { args, from: KEYS_FROM, to: keysTo });
    assert(result !== undefined, 'an intersection is not larger than a set that fits in a turn');
    reply.integer(Math.min(limit, result.list.length - result.membersFrom));
  },
  async runLong({ args, keyspace, reply }, signal) {
    const words = readCardWords(args);
    if (typeof words === 'string') return reply.error(words);
    const { keysTo, limit } = words;
    const deps = { keyspace, pause: pauseUnlessGone(keyspace, signal) };
    const named = { args, from: KEYS_FROM, to: keysTo };
    using result = new PinnedAlgebra('intersection', deps, named);
    let count = 0;
    for await (const batch of result.members()) {
      count += batch.length;
      if (count >= limit) break;
    }
    reply.integer(Math.min(count, limit));
  },
});

interface CardWords {
  readonly keysTo: number;
  readonly limit: number;
}

/** A text is the error to answer with. */
function readCardWords(args: ByteList): CardWords | string {
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

export const algebraCommands: readonly Command[] = [
  algebraCommand('sdiff', 'difference', 'Returns the difference of multiple sets.'),
  algebraCommand('sinter', 'intersection', 'Returns the intersection of multiple sets.'),
  algebraCommand('sunion', 'union', 'Returns the union of multiple sets.'),
  storeCommand('sdiffstore', 'difference', 'Stores the difference of multiple sets in a set.'),
  storeCommand('sinterstore', 'intersection', 'Stores the intersection of multiple sets in a set.'),
  storeCommand('sunionstore', 'union', 'Stores the union of multiple sets in a set.'),
  sintercard,
];
