// Reports a failed command: one line on standard error, and an exit code. Stack traces are for developers, so they
// are printed only with `--debug` or SYNCLINE_DEBUG.
import { inspect } from 'node:util';
import { SynclineError } from '@syncline/kernel';
import { type ExitCode, exitCodeOf } from '@syncline/protocol';
import type { CliWorld } from './cli-world.js';
import { paintFor } from './paint.js';
import { printable } from './printable.js';

export function reportFailure(world: CliWorld, thrown: unknown, isDebug: boolean): ExitCode {
  const paint = paintFor(world.stderr, world.environment);
  const isExpected = thrown instanceof SynclineError;
  const message = isExpected ? thrown.message : `internal error: ${String(thrown)}`;
  const hint =
    isExpected || isDebug ? '' : ' This is a bug in Syncline; run with --debug for a stack trace.';
  // The message may come from a server, so it is not trusted.
  world.stderr.write(`${paint('red', 'syncline:')} ${printable(message)}${hint}\n`);
  if (isDebug) {
    const lines = withoutMessage(inspect(thrown, { depth: 6 }), thrown).split('\n');
    world.stderr.write(`${lines.map(printable).join('\n')}\n`);
  }
  return isExpected ? exitCodeOf(thrown) : 1;
}

/** The message is printed above, so the stack begins with the class only. */
function withoutMessage(stack: string, thrown: unknown): string {
  if (!(thrown instanceof Error) || thrown.message === '') return stack;
  const at = stack.indexOf(`: ${thrown.message}`);
  return at === -1 ? stack : stack.slice(0, at) + stack.slice(at + 2 + thrown.message.length);
}
