// From arguments to an exit code.
import type { ExitCode } from '@syncline/protocol';
import { CommanderError } from 'commander';
import type { CliWorld } from './cli-world.js';
import { createProgram } from './program.js';
import { WrongUsage } from './wrong-usage.js';

export async function runCli(world: CliWorld, args: readonly string[]): Promise<ExitCode> {
  const [first, ...others] = args;
  const asked = first === 'help' ? [...others, '--help'] : args;
  try {
    await createProgram(world).parseAsync(asked, { from: 'user' });
    return 0;
  } catch (thrown) {
    // Help and version arrive as errors too, as does help that was shown because nothing was asked.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
    const { reportFailure } = await import('./failure.js');
    return reportFailure(world, await inWords(thrown), isDebug(world, args));
  }
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
