// COMMAND GETKEYS: the keys of a whole command.
import { setsLimits } from '../../../limits.js';
import type { Command, CommandContext, CommandFinder, KnownCommand } from '../../command.js';
import { errorTexts } from '../../errors.js';
import { isArity } from '../../resolve-command.js';
import { keyIndices } from './command-keys.js';

const FIRST = 2;

export function createCommandGetkeys(lookup: () => CommandFinder): Command {
  return {
    name: 'getkeys',
    arity: -4,
    wordsMax: setsLimits.askedWordsMax.value,
    flags: ['loading', 'stale'],
    group: 'server',
    syntax: 'command [word ...]',
    summary: 'Gives the keys of a whole command.',
    run(context) {
      const { args, reply } = context;
      const keys = findKeys(lookup(), context);
      if (typeof keys === 'string') {
        reply.error(keys);
        return;
      }
      reply.array(keys.length);
      for (const key of keys) reply.bulkOf(args, key);
    },
  };
}

/** A text says why there are none. */
function findKeys(lookup: CommandFinder, { args }: CommandContext): readonly number[] | string {
  const known = commandAt(lookup, { args });
  if (known === undefined) return errorTexts.commandInvalid;
  const { keys, arity } = known.command;
  if (keys === undefined) return errorTexts.commandHasNoKeys;
  if (!isArity(arity, args.length - FIRST)) return errorTexts.commandArgumentsCount;
  return keyIndices(keys, args, FIRST) ?? errorTexts.commandArguments;
}

function commandAt(
  lookup: CommandFinder,
  { args }: Pick<CommandContext, 'args'>,
): KnownCommand | undefined {
  const known = lookup.find(args, FIRST);
  if (known?.subcommands === undefined || args.length <= FIRST + 1) return known;
  return known.subcommands.find(args, FIRST + 1);
}
