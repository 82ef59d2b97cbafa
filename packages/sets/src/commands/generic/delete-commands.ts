// DEL, UNLINK, FLUSHALL and FLUSHDB: a removal of every member that this node sees. If everything fits in one
// operation, it is one operation over all sets; otherwise the members are removed in parts.
import type { ByteList } from '../../byte-list.js';
import { type Command, commandsIn, keysToLast } from '../command.js';
import { errorTexts } from '../errors.js';
import { ChangeParts, inOneOperation, withGate } from '../long-work.js';
import { isOption } from '../words.js';
import { pagesOfNames } from './scan-commands.js';

const define = commandsIn('generic');
const difference =
  'Removes the members that this node has seen; members added elsewhere at the same time remain. More than 65,536 members or 3 MiB are removed in several operations.';

function deleteCommand(name: string, flags: Command['flags'], summary: string): Command {
  return define(name, -2, flags, {
    syntax: 'key [key ...]',
    summary,
    difference,
    keys: keysToLast,
    estimate({ args, keyspace }, load) {
      for (let key = 1; key < args.length && !load.isTooMuch; key += 1) {
        load.reads(1);
        load.removes(args, key, keyspace.cardinality(args, key));
      }
    },
    run({ args, keyspace, reply }) {
      let deleted = 0;
      inOneOperation(keyspace, () => {
        for (let key = 1; key < args.length; key += 1)
          if (keyspace.clear(args, key) > 0) deleted += 1;
      });
      reply.integer(deleted);
    },
    async runLong({ args, keyspace, reply }, signal) {
      const deleted = await withGate(keyspace, signal, async (hold) => {
        const changes = new ChangeParts({ keyspace, hold });
        const seen = new Set<string>();
        let count = 0;
        for (let key = 1; key < args.length; key += 1) {
          const pause = keyspace.yieldIfOverBudget();
          if (pause !== undefined) await pause;
          if (keyspace.cardinality(args, key) === 0) continue;
          if (seen.size === seen.add(args.text(key)).size) continue;
          count += 1;
          await changes.removeAll(args, key);
        }
        await changes.finish(hold);
        return count;
      });
      reply.integer(deleted);
    },
  });
}

/** FLUSHALL and FLUSHDB are the same, as there is one database. */
function flushCommand(name: string): Command {
  return define(name, -1, ['write'], {
    syntax: '[ASYNC|SYNC]',
    summary: 'Removes all sets.',
    difference: `${difference} ASYNC and SYNC do the same.`,
    estimate({ keyspace }, load) {
      load.reads(keyspace.setsCount());
      if (load.isTooMuch) return;
      for (const names of pagesOfNames(keyspace)) {
        for (let key = 0; key < names.length; key += 1)
          load.removes(names, key, keyspace.cardinality(names, key));
        if (load.isTooMuch) return;
      }
    },
    run({ args, keyspace, reply }) {
      if (!isFlush(args)) return reply.error(errorTexts.syntax);
      inOneOperation(keyspace, () => {
        for (const names of pagesOfNames(keyspace))
          for (let key = 0; key < names.length; key += 1) keyspace.clear(names, key);
      });
      reply.simple('OK');
    },
    async runLong({ args, keyspace, reply }, signal) {
      if (!isFlush(args)) return reply.error(errorTexts.syntax);
      await withGate(keyspace, signal, async (hold) => {
        const changes = new ChangeParts({ keyspace, hold });
        for (const names of pagesOfNames(keyspace))
          for (let key = 0; key < names.length; key += 1) await changes.removeAll(names, key);
        await changes.finish(hold);
      });
      reply.simple('OK');
    },
  });
}

function isFlush(args: ByteList): boolean {
  if (args.length === 1) return true;
  return args.length === 2 && (isOption(args, 1, 'async') || isOption(args, 1, 'sync'));
}

export const deleteCommands: readonly Command[] = [
  deleteCommand('del', ['write'], 'Removes sets.'),
  deleteCommand('unlink', ['write', 'fast'], 'Removes sets, exactly as DEL does.'),
  flushCommand('flushall'),
  flushCommand('flushdb'),
];
