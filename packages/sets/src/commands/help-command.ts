// The HELP of a command with subcommands, made from the subcommands themselves.
import type { Command } from './command.js';

/** `CLIENT HELP` for `client`. */
export function createHelp(
  { name, group }: Pick<Command, 'name' | 'group'>,
  subcommands: readonly Command[],
): Command {
  const help: Command = {
    name: 'help',
    arity: 2,
    flags: ['loading', 'stale'],
    group,
    summary: 'Prints this help.',
    difference: 'Lists what Syncline answers.',
    run({ reply }) {
      const lines = [...subcommands, help].flatMap((subcommand) => [
        [subcommand.name.toUpperCase(), subcommand.syntax ?? ''].join(' ').trim(),
        `    ${subcommand.summary}`,
      ]);
      reply.array(lines.length + 1);
      reply.simple(
        `${name.toUpperCase()} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`,
      );
      for (const line of lines) reply.simple(line);
    },
  };
  return help;
}
