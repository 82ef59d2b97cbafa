// Runs one command that may run: within this turn if what it walks is at hand, else as soon as it is, else
// beyond a turn.
//
// Nothing may come between being admitted and writing: a command waits for its sets first and for the gate
// last, then looks again whether its sets are still there.
import { assert, SynclineError } from '@syncline/kernel';
import type { CommandContext, KnownCommand, Walk } from './command.js';
import { planWalk, walkedKeys } from './walk-plan.js';

export function runCommand(known: KnownCommand, context: CommandContext): void | Promise<void> {
  const walk = known.command.walks?.(context.args);
  if (walk?.kind === 'sets' || walk?.kind === 'part') {
    const readable = context.keyspace.admit('read'); // to make a plan, its sets are looked up
    if (readable !== undefined) return readable.then(() => runAsPlanned(known, context, walk));
  }
  return runAsPlanned(known, context, walk);
}

function runAsPlanned(
  known: KnownCommand,
  context: CommandContext,
  walk: Walk | undefined,
): void | Promise<void> {
  const plan = walk === undefined ? 'now' : planWalk(walk, context.args, context.keyspace);
  if (plan === 'long') return runLong(known, context);
  if (plan === 'bring') return runWhenBrought(known, context, walk);
  if (walk !== undefined && walk.kind !== 'none') context.client.hasWalked = true;
  const admitted = known.access && context.keyspace.admit(known.access);
  if (admitted !== undefined) return runWhenAdmitted(known, context, walk, admitted);
  return runNow(known, context);
}

async function runWhenBrought(
  known: KnownCommand,
  context: CommandContext,
  walk: Walk | undefined,
): Promise<void> {
  if (walk !== undefined) await context.keyspace.bringIn(walkedKeys(walk, context.args));
  return runWhenAdmitted(
    known,
    context,
    walk,
    known.access && context.keyspace.admit(known.access),
  );
}

async function runWhenAdmitted(
  known: KnownCommand,
  context: CommandContext,
  walk: Walk | undefined,
  admitted: Promise<void> | undefined,
): Promise<void> {
  if (admitted !== undefined) await admitted;
  const isAtHand = walk === undefined || planWalk(walk, context.args, context.keyspace) === 'now';
  return isAtHand ? runNow(known, context) : runLong(known, context);
}

/** A change that is too large for one operation has changed nothing, and goes the long way. */
function runNow(known: KnownCommand, context: CommandContext): void | Promise<void> {
  const { command } = known;
  if (command.runLong === undefined) return command.run(context);
  try {
    return command.run(context);
  } catch (error) {
    if (!(error instanceof SynclineError) || error.code !== 'limit-exceeded') throw error;
    return runLong(known, context);
  }
}

function runLong(known: KnownCommand, context: CommandContext): Promise<void> {
  const { command } = known;
  assert(command.runLong !== undefined, `${known.fullName} can run beyond a turn`);
  return command.runLong(context, context.client.gone);
}
