// From arguments to an exit code.
import { CommanderError } from 'commander';
import type { CliWorld } from './cli-world.js';
import { CommandExit } from './command-exit.js';
import { createProgram } from './program.js';
import { WrongUsage } from './wrong-usage.js';

export async function runCli(world: CliWorld, args: readonly string[]): Promise<number> {
  const [first, ...others] = args;
  const asked = first === 'help' ? [...others, '--help'] : args;
  try {
    await createProgram(world).parseAsync(asked, { from: 'user' });
    return 0;
  } catch (thrown) {
    // Help and version arrive as errors too, as does help that was shown because there was no command.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
    if (thrown instanceof CommandExit) return thrown.exitCode;
    if (isOutOfFiles(thrown)) throw thrown; // bin/syncline.js explains it: to load more modules may fail too
    const { reportFailure } = await import('./failure.js');
    return reportFailure(world, await inWords(thrown), isDebug(world, args));
  }
}

/** Node opens the modules of a command all at once, so a low limit of open files ends its `import()`. */
function isOutOfFiles(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'EMFILE';
}

async function inWords(thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof WrongUsage)) return thrown;
  const { usageError } = await import('./usage-error.js');
  return usageError(thrown);
}

function isDebug({ environment }: CliWorld, args: readonly string[]): boolean {
  const { SYNCLINE_DEBUG: variable = '' } = environment;
  return args.includes('--debug') || (variable !== '' && variable !== '0');
}
