// The table of commands for documentation: what each does and where it differs from Redis.
import { silentMetrics } from '@syncline/kernel';
import type { Command, KnownCommand } from './command.js';
import { createCommandTable } from './command-table.js';

export interface CommandDescription {
  /** In capitals, with its command for a subcommand: `CONFIG GET`. */
  readonly name: string;
  readonly group: Command['group'];
  /** The words behind the name; empty when there are none. */
  readonly syntax: string;
  readonly summary: string;
  /** Undefined: as in Redis. */
  readonly difference: string | undefined;
}

/** All commands that are answered, by name, each followed by its subcommands. */
export function describeCommands(): readonly CommandDescription[] {
  return byName(createCommandTable({ metrics: silentMetrics }).all).flatMap((known) => [
    describe(known),
    ...byName(known.subcommands?.all ?? []).map(describe),
  ]);
}

function byName(commands: readonly KnownCommand[]): readonly KnownCommand[] {
  return commands.toSorted((one, other) => (one.fullName < other.fullName ? -1 : 1));
}

function describe({ command, fullName }: KnownCommand): CommandDescription {
  const { group, syntax = '', summary, difference } = command;
  return { name: fullName.replace('|', ' ').toUpperCase(), group, syntax, summary, difference };
}
