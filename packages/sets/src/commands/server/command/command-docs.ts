// COMMAND DOCS: a sentence about each command. redis-cli asks for it and shows it in its help.
import { setsLimits } from '../../../limits.js';
import type { Reply } from '../../../resp/reply.js';
import type { Command, CommandFinder, KnownCommand } from '../../command.js';
import { walksEntries } from '../../walks.js';
import { namedCommand } from './named-command.js';

export function createCommandDocs(lookup: () => CommandFinder): Command {
  return {
    name: 'docs',
    arity: -2,
    wordsMax: setsLimits.askedWordsMax.value,
    flags: ['loading', 'stale'],
    group: 'server',
    syntax: '[name ...]',
    summary: 'Gives a sentence about the commands that are named, or about all.',
    difference: 'Without complexity, history and arguments.',
    walks: (args) => walksEntries(args.length === 2 ? lookup().all.length : args.length - 2),
    run({ args, reply }) {
      const chosen: KnownCommand[] = args.length === 2 ? [...lookup().all] : [];
      for (let index = 2; index < args.length; index += 1) {
        const known = namedCommand(lookup(), args.text(index));
        if (known !== undefined) chosen.push(known);
      }
      reply.map(chosen.length);
      for (const known of chosen) replyDocs(reply, known);
    },
  };
}

function replyDocs(reply: Reply, { command, fullName, subcommands }: KnownCommand): void {
  reply.bulkText(fullName);
  reply.map(subcommands === undefined ? 2 : 3);
  reply.bulkText('summary');
  reply.bulkText(command.summary);
  reply.bulkText('group');
  reply.bulkText(command.group);
  if (subcommands === undefined) return;
  reply.bulkText('subcommands');
  reply.map(subcommands.all.length);
  for (const subcommand of subcommands.all) replyDocs(reply, subcommand);
}
