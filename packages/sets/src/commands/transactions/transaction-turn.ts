// The one turn of a transaction: its commands run one after the other, as one operation.
//
// Whether the watched keys were touched is asked here, since others may have written while the transaction
// was made ready. What turns out to be too large is taken back whole, with the answers that were written.
//
// S22  A transaction runs in one turn and is one operation, or it changes nothing.
import { SynclineError } from '@syncline/kernel';
import { setsLimits } from '../../limits.js';
import type { CommandContext, QueuedCommand } from '../command.js';
import { errorTexts, failureText } from '../errors.js';
import { PatternMeter } from '../pattern-meter.js';
import { endTransaction } from './end-transaction.js';
import { TransactionLoad } from './transaction-load.js';

const replyBytesMax = setsLimits.transactionReadBytesMax.value;

export function runInOneTurn(queued: readonly QueuedCommand[], context: CommandContext): void {
  const { client, keyspace, reply } = context;
  const { isTouched } = client;
  endTransaction(context);
  if (isTouched) {
    keyspace.version(); // a read of all: the change that touched a key may not be stored yet
    reply.nullArray();
    return;
  }
  const mark = reply.mark();
  // A node that cannot write does not begin operations, and must still be read.
  const isWrite = queued.some(({ known }) => known.access === 'write');
  reply.array(queued.length);
  if (isWrite) keyspace.begin();
  const refusal = runEach(queued, context);
  if (refusal === undefined) {
    if (isWrite) keyspace.end();
    return;
  }
  if (isWrite) keyspace.abandon();
  if (reply.rewind(mark)) reply.error(refusal);
  else client.cut();
}

/** Gives the reason for which all of it must be taken back. */
function runEach(queued: readonly QueuedCommand[], context: CommandContext): string | undefined {
  const { reply } = context;
  const start = reply.mark();
  const patternMeter = new PatternMeter();
  const load = new TransactionLoad(context);
  for (const { known, args } of queued) {
    const refusal = load.add({ known, args });
    if (refusal !== undefined) return refusal;
    context.facts.countCommand(known.fullName);
    try {
      // No promise comes back: commands that may wait were not queued.
      void known.command.run({ ...context, args, patternMeter });
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      return refusalOf(thrown);
    }
    if (reply.mark() - start > replyBytesMax) return errorTexts.transactionAnswersTooMuch;
  }
  return undefined;
}

function refusalOf(error: SynclineError): string {
  return error.code === 'limit-exceeded' ? errorTexts.transactionTooLarge : failureText(error);
}
