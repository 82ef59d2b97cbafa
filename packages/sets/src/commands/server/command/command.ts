// COMMAND: what the server answers, from the one table of commands.
import type { Command, CommandFinder } from '../../command.js';
import { createHelp } from '../../help-command.js';
import { walksEntries } from '../../walks.js';
import { createCommandDocs } from './command-docs.js';
import { replyEntry } from './command-entry.js';
import { createCommandGetkeys } from './command-getkeys.js';
import { createCommandInfo } from './command-info.js';
import { createCommandCount, createCommandList } from './command-list.js';

/** `lookup` is asked when a command runs, since COMMAND is part of what it tells about. */
export function createCommandCommand(lookup: () => CommandFinder): Command {
  const subcommands: readonly Command[] = [
    createCommandCount(lookup),
    createCommandDocs(lookup),
    createCommandGetkeys(lookup),
    createCommandInfo(lookup),
    createCommandList(lookup),
  ];
  return {
    name: 'command',
    arity: -1,
    flags: ['loading', 'stale'],
    group: 'server',
    summary: 'Tells about the commands.',
    subcommands: [...subcommands, createHelp({ name: 'command', group: 'server' }, subcommands)],
    walks: () => walksEntries(lookup().all.length),
    run({ reply }) {
      const { all } = lookup();
      reply.array(all.length);
      for (const known of all) replyEntry(reply, known);
    },
  };
}
