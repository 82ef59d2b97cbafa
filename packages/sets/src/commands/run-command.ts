// Runs a command that has passed all checks: within this turn if that is enough, otherwise in slices. Nothing happens
// between the admission of a write and its change.
import { assert, SynclineError } from '@syncline/kernel';
import type { CommandContext, KnownCommand } from './command.js';
import { Load, turnLimitsOf } from './load.js';

export function runCommand(known: KnownCommand, context: CommandContext): void | Promise<void> {
  if (needsMoreThanATurn(known, context)) return runLong(known, context);
  const admitted = known.access === 'write' ? context.keyspace.admitWrite() : undefined;
  if (admitted !== undefined) return runWhenAdmitted(known, context, admitted);
  return runNow(known, context);
}

async function runWhenAdmitted(
  known: KnownCommand,
  context: CommandContext,
  admitted: Promise<void>,
): Promise<void> {
  await admitted;
  // Its sets may have grown while it waited.
  return needsMoreThanATurn(known, context) ? runLong(known, context) : runNow(known, context);
}

function needsMoreThanATurn({ command }: KnownCommand, context: CommandContext): boolean {
  if (command.estimate === undefined) return false;
  context.client.hasWalked = true;
  if (command.runLong === undefined) return false;
  const load = new Load(context.keyspace, turnLimitsOf(context.facts.turnMembersMax));
  command.estimate(context, load);
  return load.isTooMuch;
}

function runNow(known: KnownCommand, context: CommandContext): void | Promise<void> {
  const mark = context.reply.mark();
  try {
    return known.command.run(context);
  } catch (error) {
    const isTooLarge = error instanceof SynclineError && error.code === 'limit-exceeded';
    if (!isTooLarge || known.command.runLong === undefined) throw error;
    context.reply.rewind(mark);
    return runLong(known, context);
  }
}

function runLong(known: KnownCommand, context: CommandContext): Promise<void> {
  const { command, fullName, access } = known;
  assert(command.runLong !== undefined, `${fullName} can run for longer than a turn`);
  const { client } = context;
  return command.runLong(context, access === 'write' ? client.gone : client.reading);
}
