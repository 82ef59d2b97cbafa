// COMMAND INFO: arity, flags and keys of the commands that are named, or of all.
import { setsLimits } from '../../../limits.js';
import type { Command, CommandFinder } from '../../command.js';
import { walksEntries } from '../../walks.js';
import { replyEntry } from './command-entry.js';
import { namedCommand } from './named-command.js';

export function createCommandInfo(lookup: () => CommandFinder): Command {
  return {
    name: 'info',
    arity: -2,
    wordsMax: setsLimits.askedWordsMax.value,
    flags: ['loading', 'stale'],
    group: 'server',
    syntax: '[name ...]',
    summary: 'Tells about the commands that are named, or about all.',
    difference: 'Without hints and key specifications.',
    walks: (args) => walksEntries(args.length === 2 ? lookup().all.length : args.length - 2),
    run({ args, reply }) {
      const { all } = lookup();
      reply.array(args.length === 2 ? all.length : args.length - 2);
      if (args.length === 2) for (const known of all) replyEntry(reply, known);
      for (let index = 2; index < args.length; index += 1) {
        const known = namedCommand(lookup(), args.text(index));
        if (known === undefined) reply.nullBulk();
        else replyEntry(reply, known);
      }
    },
  };
}
