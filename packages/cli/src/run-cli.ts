// From arguments to an exit code.
import { type Command, CommanderError } from 'commander';
import type { CliWorld } from './cli-world.js';
import { CommandExit } from './command-exit.js';
import { createProgram, fillCommand } from './program.js';
import { WrongUsage } from './wrong-usage.js';

export async function runCli(world: CliWorld, args: readonly string[]): Promise<number> {
  const [first, ...others] = args;
  const program = createProgram(world);
  try {
    if (first === 'help') await showHelp(program, world, others);
    else await program.parseAsync(isKnown(program, first) ? args : args.slice(0, 1), FROM_USER);
    return 0;
  } catch (thrown) {
    // Commander throws for help and version, too; without a command, it shows the help and fails.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
    if (thrown instanceof CommandExit) return thrown.exitCode;
    if (isOutOfFiles(thrown)) throw thrown; // bin/syncline.js reports it, since loading more modules may fail, too
    const { reportFailure } = await import('./failure.js');
    return reportFailure(world, await explainWrongUsage(thrown), isDebug(world, args));
  }
}

const FROM_USER = { from: 'user' } as const;

/** For an unknown command, --help would show the general help, as if nothing were wrong. */
function isKnown({ commands }: Command, name = ''): boolean {
  return !/^[^-]/.test(name) || commands.some((known) => known.name() === name);
}

/** `help jobs show` is the same as `jobs show --help`, but a name that does not exist is an error. */
async function showHelp(program: Command, world: CliWorld, args: readonly string[]): Promise<void> {
  let command = program;
  for (const name of args.filter((arg) => !arg.startsWith('-'))) {
    const child = command.commands.find((known) => known.name() === name);
    if (child === undefined) {
      const text = `unknown command '${name}'`;
      throw new WrongUsage(command, new CommanderError(1, 'commander.unknownCommand', text));
    }
    if (command === program) await fillCommand(child, world);
    command = child;
  }
  command.outputHelp();
}

/** Node opens all modules of a command at once, so `import()` fails if the limit of open files is low. */
function isOutOfFiles(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'EMFILE';
}

async function explainWrongUsage(thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof WrongUsage)) return thrown;
  const { usageError } = await import('./usage-error.js');
  return usageError(thrown);
}

function isDebug({ environment }: CliWorld, args: readonly string[]): boolean {
  const { SYNCLINE_DEBUG: variable = '' } = environment;
  return args.includes('--debug') || (variable !== '' && variable !== '0');
}
