// The command line: its commands, its help, and how invalid usage is reported.
//
// Commands are loaded on demand. Most of them load the server, which takes half a second, and `--version` and
// `--help` should not have to wait for that.
import { Command } from 'commander';
import type { CliWorld } from './cli-world.js';
import { addExamples } from './examples.js';
import { paintFor } from './paint.js';
import { readVersion } from './version.js';
import { WrongUsage } from './wrong-usage.js';

interface LazyCommand {
  readonly description: string;
  /** Loads the function that adds the options and the action. */
  load(): Promise<(command: Command, world: CliWorld) => void>;
}

const COMMANDS: Readonly<Record<string, LazyCommand>> = {
  serve: {
    description: 'Run one node until it is stopped',
    load: async () => (await import('./commands/serve.js')).fillServeCommand,
  },
  dev: {
    description: 'Run a local cluster in this terminal',
    load: async () => (await import('./commands/dev.js')).fillDevCommand,
  },
  demo: {
    description: 'Run a demo: three nodes, faults and a dashboard',
    load: async () => (await import('./commands/demo.js')).fillDemoCommand,
  },
  status: {
    description: 'Show the status of a server',
    load: async () => (await import('./commands/status.js')).fillStatusCommand,
  },
  jobs: {
    description: 'List, show, watch, write and delete jobs',
    load: async () => (await import('./commands/jobs.js')).fillJobsCommand,
  },
  fair: {
    description: 'Evaluate fair throttling, or watch it live',
    load: async () => (await import('./commands/fair.js')).fillFairCommand,
  },
  streams: {
    description: 'Inspect pipelines and their checkpoints',
    load: async () => (await import('./commands/streams.js')).fillStreamsCommand,
  },
  config: {
    description: 'Inspect the configuration',
    load: async () => (await import('./commands/config.js')).fillConfigCommand,
  },
};

export function createProgram(world: CliWorld): Command {
  const program = new Command('syncline')
    .description('Shared state for services that run as many processes.')
    .version(readVersion(), '-v, --version', 'Print the version')
    .option('--debug', 'Print stack traces of errors (or set SYNCLINE_DEBUG=1)');
  addExamples(program, [
    ['syncline serve', 'a local server with data in ./syncline-data'],
    ['syncline status', 'status of the local server'],
    ['syncline dev -n 3', 'three nodes in this terminal'],
    ['syncline demo', 'a guided tour with three nodes'],
    ['syncline help serve', 'help for one command'],
  ]);
  for (const [name, { description }] of Object.entries(COMMANDS))
    program.command(name).description(description);
  program.hook('preSubcommand', (_, command) => fillCommand(command, world));
  settle(program, world);
  return program;
}

/** Adds the options and the action of a command, and the commands below it. */
export async function fillCommand(command: Command, world: CliWorld): Promise<void> {
  const fill = await COMMANDS[command.name()]?.load();
  fill?.(command, world);
  settle(command, world);
}

/** Configures output, help and errors of a command and its subcommands. */
function settle(command: Command, world: CliWorld): void {
  const paint = paintFor(world.stdout, world.environment);
  command
    .configureOutput({
      writeOut: (text) => void world.stdout.write(text),
      writeErr: (text) => void world.stderr.write(text),
      getOutHasColors: () => true, // `paint` decides about colors
      outputError: () => {}, // reported once, by the code that catches the error
    })
    .configureHelp({ styleTitle: (title) => paint('bold', title) })
    .showSuggestionAfterError(false)
    .helpCommand(false) // `runCli` converts it to --help, which loads the command first
    .helpOption('-h, --help', 'Show this help')
    .exitOverride((error) => {
      if (/^commander\.(help|version)/.test(error.code)) throw error;
      throw new WrongUsage(command, error);
    });
  for (const child of command.commands) settle(child, world);
}
