// The `--help` output of every command; docs/CLI.md is generated from it.
import type { Command } from 'commander';
import type { CliWorld } from './cli-world.js';
import { createProgram, fillCommand } from './program.js';

export interface CommandHelp {
  /** As it is typed: `syncline jobs watch`. */
  readonly command: string;
  readonly description: string;
  readonly help: string;
}

export async function describeCli(): Promise<readonly CommandHelp[]> {
  let printed = '';
  const world: CliWorld = {
    stdout: { write: (text) => (printed += text) },
    stderr: { write: () => undefined },
    environment: {},
    onStopEvent() {},
    onSuspend() {},
    ask: async () => undefined,
    reportStarted() {},
    makeNewFilesPrivate() {},
    exitNow() {},
  };
  const describe = (command: Command, name: string): CommandHelp => {
    printed = '';
    command.outputHelp();
    return { command: name, description: command.description(), help: printed };
  };
  const describeAll = (commands: readonly Command[], parent: string): CommandHelp[] =>
    commands.flatMap((command) => {
      const name = `${parent} ${command.name()}`;
      return [describe(command, name), ...describeAll(command.commands, name)];
    });
  const program = createProgram(world);
  const overview = describe(program, program.name()); // as users see it: before the commands are loaded
  for (const command of program.commands) await fillCommand(command, world);
  return [overview, ...describeAll(program.commands, program.name())];
}
