// From a parsed command to its answer: who may run, in which order the questions are asked, and what a failure
// is answered with.
//
// The order is Redis's: is there such a command, has it the right number of words, is the client known, does
// the server take it now, does it go into the queue of a transaction. A command that is refused while one is
// open breaks it, and EXEC ends it. Nothing is allocated on the way of a plain SADD.
import { type Metrics, SynclineError } from '@syncline/kernel';
import type { CommandContext, CommandFinder, KnownCommand } from './command.js';
import { createCommandTable } from './command-table.js';
import { errorTexts, execRefusedText, failureText } from './errors.js';
import { resolveCommand } from './resolve-command.js';
import { runCommand } from './run-command.js';
import { endTransaction } from './transactions/end-transaction.js';
import { queueCommand } from './transactions/queue-command.js';

export interface DispatchDeps {
  readonly metrics: Metrics;
}

/**
 * A promise: the answer comes later, and what is behind it on the connection waits. It neither throws nor
 * rejects but for a bug of ours.
 */
export type Dispatch = (context: CommandContext) => void | Promise<void>;

export function createDispatch({ metrics }: DispatchDeps): Dispatch {
  return dispatchOver(createCommandTable({ metrics }));
}

/** The same over another table. */
export function dispatchOver(lookup: CommandFinder): Dispatch {
  return (context) => {
    const known = resolveCommand(lookup, context.args);
    if (typeof known === 'string') return refuse(lookup, context, known);
    const refusal = refusalOf(known, context);
    if (refusal !== undefined) return refuse(lookup, context, refusal);
    if (context.client.queued !== undefined && !known.isNeverQueued) {
      return queueCommand(known, context);
    }
    return answer(known, context);
  };
}

/** Why this command may not run for this client at this time. */
function refusalOf(known: KnownCommand, { client, facts }: CommandContext): string | undefined {
  if (known.command.refusal !== undefined) return known.command.refusal;
  if (!client.isAuthenticated && !known.isOpen) return errorTexts.notAuthenticated;
  const phase = facts.phase();
  if (phase === 'loading' && !known.isLoadable) return errorTexts.loading;
  if (phase === 'closing' && known.access === 'write') return errorTexts.closing;
  if (client.queued !== undefined && known.isRefusedInMulti) return errorTexts.notInsideMulti;
  return undefined;
}

/** As in Redis, an EXEC that is refused ends its transaction all the same. */
function refuse(lookup: CommandFinder, context: CommandContext, text: string): void {
  const { args, client, reply } = context;
  if (lookup.find(args, 0)?.fullName === 'exec') {
    endTransaction(context);
    reply.error(execRefusedText(text));
    return;
  }
  if (client.queued !== undefined) client.isQueueBroken = true;
  reply.error(text);
}

function answer(known: KnownCommand, context: CommandContext): void | Promise<void> {
  const { client, facts, keyspace, reply } = context;
  client.lastCommand = known.fullName;
  facts.countCommand(known.fullName);
  const mark = reply.mark();
  const counterBefore = keyspace.lastCounter();
  try {
    const pending = runCommand(known, context);
    if (pending !== undefined) return answerLater(pending, known, context, mark);
  } catch (error) {
    answerFailure(context, mark, error);
  }
  // Counters are made here only, so a new one was made by this command.
  const counter = keyspace.lastCounter();
  if (counter !== counterBefore) client.lastCounter = counter;
  return undefined;
}

async function answerLater(
  pending: Promise<void>,
  known: KnownCommand,
  context: CommandContext,
  mark: number,
): Promise<void> {
  try {
    await pending;
  } catch (error) {
    answerFailure(context, mark, error);
  }
  // Others may have written meanwhile. Their newest counter then covers the one of this command.
  if (known.makesOperations) context.client.lastCounter = context.keyspace.lastCounter();
}

/** Takes back what was written of the answer. When a part of it has left, only the end of the connection is true. */
function answerFailure({ client, reply }: CommandContext, mark: number, thrown: unknown): void {
  if (!(thrown instanceof SynclineError)) throw thrown;
  if (reply.rewind(mark)) reply.error(failureText(thrown));
  else client.cut();
}
