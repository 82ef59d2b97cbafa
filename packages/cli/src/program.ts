// The command line as a whole: its commands, its help, and how wrong usage is told.
import { readVersion } from '@syncline/server';
import { Command } from 'commander';
import type { CliWorld } from './cli-world.js';
import { addConfigCommand } from './commands/config.js';
import { addDevCommand } from './commands/dev.js';
import { addServeCommand } from './commands/serve.js';
import { addStatusCommand } from './commands/status.js';
import { addExamples } from './examples.js';
import { paintFor } from './paint.js';
import { usageError } from './usage-error.js';

export function createProgram(world: CliWorld): Command {
  const program = new Command('syncline')
    .description('State that many processes write and all must agree on.')
    .version(readVersion(), '-V, --version', 'Print the version')
    .option('--debug', 'Show the stack of an error (or set SYNCLINE_DEBUG=1)');
  addExamples(program, [
    ['syncline serve', 'a server on this machine, data in ./syncline-data'],
    ['syncline status', 'what runs there, and how it is'],
    ['syncline dev -n 3', 'three nodes in this terminal'],
  ]);
  addServeCommand(program, world);
  addDevCommand(program, world);
  addStatusCommand(program, world);
  addConfigCommand(program, world);
  settle(program, world);
  return program;
}

/** Output, help and errors of a command and all below it. */
function settle(command: Command, world: CliWorld): void {
  const paint = paintFor(world.stdout, world.environment);
  command
    .configureOutput({
      writeOut: (text) => void world.stdout.write(text),
      writeErr: (text) => void world.stderr.write(text),
      getOutHasColors: () => true, // `paint` has decided
      outputError: () => {}, // told once, by whoever catches the error
    })
    .configureHelp({ styleTitle: (title) => paint('bold', title) })
    .showSuggestionAfterError(false)
    .helpCommand(false)
    .helpOption('-h, --help', 'Show this help')
    .exitOverride((error) => {
      if (/^commander\.(help|version)/.test(error.code)) throw error;
      throw usageError(command, error);
    });
  for (const child of command.commands) settle(child, world);
}
