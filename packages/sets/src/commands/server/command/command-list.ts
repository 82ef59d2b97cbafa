// COMMAND COUNT and LIST: how many commands there are, and their names, all or those that fit a filter.
import type { Command, CommandContext, CommandFinder, KnownCommand } from '../../command.js';
import { errorTexts } from '../../errors.js';
import { Glob } from '../../glob.js';
import { isOption } from '../../option-word.js';
import { aclCategories } from './acl-categories.js';

export function createCommandCount(lookup: () => CommandFinder): Command {
  return {
    name: 'count',
    arity: 2,
    flags: ['loading', 'stale'],
    group: 'server',
    summary: 'Gives the number of commands.',
    run: ({ reply }) => reply.integer(lookup().all.length),
  };
}

export function createCommandList(lookup: () => CommandFinder): Command {
  return {
    name: 'list',
    arity: -2,
    flags: ['loading', 'stale'],
    group: 'server',
    syntax: '[FILTERBY MODULE name | ACLCAT category | PATTERN pattern]',
    summary: 'Gives the names of the commands.',
    run(context) {
      const { reply } = context;
      const isChosen = readFilter(context);
      if (isChosen === undefined) {
        reply.error(errorTexts.syntax);
        return;
      }
      const all = lookup().all.flatMap((known) => [known, ...(known.subcommands?.all ?? [])]);
      const names = all.filter(isChosen).map(({ fullName }) => fullName);
      reply.array(names.length);
      for (const name of names) reply.bulkText(name);
    },
  };
}

/** Undefined: the words are no filter. */
function readFilter({ args }: CommandContext): ((known: KnownCommand) => boolean) | undefined {
  if (args.length === 2) return () => true;
  if (args.length !== 5 || !isOption(args, 2, 'filterby')) return undefined;
  if (isOption(args, 3, 'module')) return () => false;
  if (isOption(args, 3, 'aclcat')) {
    const category = `@${args.text(4).toLowerCase()}`;
    return ({ command }) => aclCategories(command).includes(category);
  }
  if (!isOption(args, 3, 'pattern')) return undefined;
  const glob = new Glob(Buffer.from(args.text(4).toLowerCase(), 'latin1'));
  return ({ fullName }) => glob.matches(Buffer.from(fullName), 0, fullName.length);
}
