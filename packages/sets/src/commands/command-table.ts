// Every command that Syncline supports, in one table: arity, flags, COMMAND and docs/COMMANDS.md come from it.
import { type Metrics, silentMetrics } from '@syncline/kernel';
import type { Command, CommandFinder, KnownCommand } from './command.js';
import { authenticationCommands } from './connection/authentication.js';
import { clientCommand } from './connection/client-command.js';
import { connectionCommands } from './connection/connection-commands.js';
import { CommandLookup } from './dispatch.js';
import { deleteCommands } from './generic/delete-commands.js';
import { keyCommands } from './generic/key-commands.js';
import { scanCommands } from './generic/scan-commands.js';
import { createCommandCommand } from './server/command-command.js';
import { configCommand } from './server/config-command.js';
import { info } from './server/info.js';
import { serverCommands } from './server/server-commands.js';
import { algebraCommands } from './set/algebra-commands.js';
import { memberCommands } from './set/member-commands.js';
import { randomCommands } from './set/random-commands.js';
import { createSynclineRead } from './syncline/read.js';
import { versionCommands } from './syncline/versions.js';
import { transactionCommands } from './transactions/transaction-commands.js';

export function createCommandTable({ metrics }: { readonly metrics: Metrics }): CommandFinder {
  const table: CommandFinder = new CommandLookup([
    ...memberCommands,
    ...randomCommands,
    ...algebraCommands,
    ...keyCommands,
    ...scanCommands,
    ...deleteCommands,
    ...authenticationCommands,
    ...connectionCommands,
    clientCommand,
    ...serverCommands,
    configCommand,
    info,
    createCommandCommand(() => table),
    ...transactionCommands,
    ...versionCommands,
    createSynclineRead({ metrics, table: () => table }),
  ]);
  return table;
}

/** A command as the documentation shows it. */
export interface CommandDescription {
  /** In upper case, with its command for a subcommand: `CONFIG GET`. */
  readonly name: string;
  readonly group: Command['group'];
  /** The arguments after the name; empty if there are none. */
  readonly syntax: string;
  readonly summary: string;
  /** Undefined: as in Redis. */
  readonly difference: string | undefined;
}

/** All commands by name, each followed by its subcommands. */
export function describeCommands(): readonly CommandDescription[] {
  const table = createCommandTable({ metrics: silentMetrics });
  return byName(table.all).flatMap((known) => [
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
