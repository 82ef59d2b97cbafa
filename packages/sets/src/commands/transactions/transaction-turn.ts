// The one turn of a transaction: its commands run one after the other, as one operation.
//
// Whether the watched keys were touched is asked here, since others may have written while the transaction
// was made ready. What turns out to be too large is taken back whole, with the answers that were written.
//
// S22  A transaction runs in one turn and is one operation, or it changes nothing.
import { SynclineError } from '@syncline/kernel';
import { ByteList } from '../../byte-list.js';
import type { Keyspace } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import type { CommandContext, QueuedCommand } from '../command.js';
import { errorTexts, failureText } from '../errors.js';
import { PatternMeter } from '../pattern-meter.js';
import { endTransaction } from './end-transaction.js';

const membersMax = setsLimits.transactionMembersMax.value;
const replyBytesMax = setsLimits.resultBytesMax.value;

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
  let members = 0;
  for (const { known, args } of queued) {
    const own = { ...context, args, patternMeter };
    members += walkedMembers({ known, args }, own);
    if (members > membersMax) return errorTexts.transactionWalksTooMuch;
    context.facts.countCommand(known.fullName);
    try {
      // No promise comes back: commands that may wait were not queued.
      void known.command.run(own);
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      return refusalOf(thrown);
    }
    if (reply.mark() - start > replyBytesMax) return errorTexts.transactionAnswersTooMuch;
  }
  return undefined;
}

/** Infinity when it cannot run within a turn: a set is not in memory since it did not fit, or has left again. */
function walkedMembers({ known, args }: QueuedCommand, context: CommandContext): number {
  const { keyspace, setNames } = context;
  const walk = known.command.walks?.(args) ?? { kind: 'none' };
  switch (walk.kind) {
    case 'none':
      return 0;
    case 'long':
      return Number.POSITIVE_INFINITY;
    case 'keyspace': {
      if (setNames === undefined) return Number.POSITIVE_INFINITY;
      return known.access === 'read' ? setNames.length : membersOfAll(setNames, keyspace);
    }
    case 'whole':
    case 'sets': {
      const members = walk.keys.map((key) => wholeMembers(args, key, keyspace));
      const sum = members.reduce((total, one) => total + one, 0);
      if (walk.kind === 'sets' || sum === Number.POSITIVE_INFINITY) return sum;
      return Math.min(sum, walk.members);
    }
  }
}

function membersOfAll(names: readonly Uint8Array[], keyspace: Keyspace): number {
  return names.reduce((sum, name) => sum + wholeMembers(ByteList.of(name), 0, keyspace), 0);
}

function wholeMembers(args: ByteList, key: number, keyspace: Keyspace): number {
  return keyspace.isWhole(args, key) ? keyspace.cardinality(args, key) : Number.POSITIVE_INFINITY;
}

function refusalOf(error: SynclineError): string {
  return error.code === 'limit-exceeded' ? errorTexts.transactionTooLarge : failureText(error);
}
