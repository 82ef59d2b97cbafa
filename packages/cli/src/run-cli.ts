// From arguments to an exit code.
import { CommanderError } from 'commander';
import type { CliWorld } from './cli-world.js';
import { CommandExit } from './command-exit.js';
import { createProgram } from './program.js';
import { WrongUsage } from './wrong-usage.js';

export async function runCli(world: CliWorld, args: readonly string[]): Promise<number> {
  const [first, ...others] = args;
  const program = createProgram(world);
  try {
    const wanted = first === 'help' ? [...others, '--help'] : args;
    const [name = ''] = wanted;
    // For an unknown command, --help would show the general help, as if nothing were wrong.
    const isUnknown =
      /^[^-]/.test(name) && program.commands.every((known) => known.name() !== name);
    await program.parseAsync(isUnknown ? [name] : wanted, { from: 'user' });
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
