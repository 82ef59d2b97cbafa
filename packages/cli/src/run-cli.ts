// From arguments to an exit code.
import type { ExitCode } from '@syncline/protocol';
import { CommanderError } from 'commander';
import type { CliWorld } from './cli-world.js';
import { reportFailure } from './failure.js';
import { createProgram } from './program.js';

export async function runCli(world: CliWorld, args: readonly string[]): Promise<ExitCode> {
  try {
    await createProgram(world).parseAsync(args, { from: 'user' });
    return 0;
  } catch (thrown) {
    // Help and version arrive as errors too, as does help that was shown because nothing was asked.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
    return reportFailure(world, thrown, isDebug(world, args));
  }
}

function isDebug({ environment }: CliWorld, args: readonly string[]): boolean {
  const { SYNCLINE_DEBUG: variable = '' } = environment;
  return args.includes('--debug') || (variable !== '' && variable !== '0');
}
