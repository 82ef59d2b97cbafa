// MULTI, EXEC, DISCARD, WATCH and UNWATCH.
//
// EXEC runs its commands one after the other within one turn. What turns out to be too large is undone, together with
// the replies that were written.
//
// S22  A transaction runs in one turn and is one operation, or it changes nothing.
import { SynclineError } from '@syncline/kernel';
import { setsLimits } from '../../limits.js';
import {
  type Command,
  type CommandContext,
  type CommandFlag,
  commandsIn,
  keysToLast,
  type QueuedCommand,
} from '../command.js';
import { throwIfUndone } from '../dispatch.js';
import { errorFor, errorTexts } from '../errors.js';
import { PatternMeter } from '../glob.js';
import { Load, transactionLimits } from '../load.js';
import { endTransaction, forgetWatches } from './transaction-state.js';

const replyBytesMax = setsLimits.transactionReadBytesMax.value;
const watchedKeysMax = setsLimits.watchedKeysMax.value;
const flags: readonly CommandFlag[] = ['noscript', 'loading', 'stale', 'fast', 'allow_busy'];
const define = commandsIn('transactions');

const multi = define('multi', 1, flags, {
  summary: 'Starts a transaction: commands are queued until EXEC.',
  difference: 'AUTH, HELLO and SYNCLINE.READ may have to wait, so they cannot be queued.',
  run({ client, reply }) {
    if (client.queued !== undefined) return reply.error(errorTexts.multiNested);
    client.queued = [];
    reply.simple('OK');
  },
});

const discard = define('discard', 1, flags, {
  summary: 'Discards a transaction.',
  run(context) {
    const { client, reply } = context;
    if (client.queued === undefined) return reply.error(errorTexts.discardWithoutMulti);
    endTransaction(context);
    reply.simple('OK');
  },
});

const watch = define('watch', -2, flags, {
  syntax: 'key [key ...]',
  summary: 'Makes the next EXEC do nothing if one of these keys has changed by then.',
  difference:
    'A key has changed when its visible members change on this node, through any client or peer. At most 1,024 keys.',
  keys: keysToLast,
  wordsMax: setsLimits.turnMembersMax.value,
  run({ args, client, facts, keyspace, reply }) {
    if (client.queued !== undefined) return reply.error(errorTexts.watchInsideMulti);
    // Keys before a refused one stay watched: then EXEC does nothing too often, but never too rarely.
    for (let key = 1; key < args.length; key += 1) {
      if (keyspace.isWatched(args, key, client)) continue;
      if (client.watchedKeys >= watchedKeysMax) return reply.error(errorTexts.tooManyWatched);
      if (!facts.watchQuota.tryTake(1)) return reply.error(errorTexts.tooManyWatchers);
      client.watchedKeys += 1;
      keyspace.watch(args, key, client);
    }
    reply.simple('OK');
  },
});

const unwatch = define('unwatch', 1, flags, {
  summary: 'Forgets all watched keys.',
  run(context) {
    forgetWatches(context);
    context.reply.simple('OK');
  },
});

const exec = define('exec', 1, ['noscript', 'loading', 'stale', 'skip_slowlog'], {
  summary:
    'Runs the queued commands as one operation, which takes effect as a whole on every node.',
  difference:
    'It runs within one turn. A transaction that reads more than 65,536 members and names or 32 MiB, or changes more than fits in one operation (65,536 elements, 4 MiB), is refused as a whole.',
  run(context: CommandContext) {
    const { client, keyspace, reply } = context;
    const { queued } = client;
    if (queued === undefined) return reply.error(errorTexts.execWithoutMulti);
    if (client.isQueueBroken) {
      endTransaction(context);
      return reply.error(errorTexts.execAborted);
    }
    client.hasWalked = true;
    const isWrite = queued.some(({ known }) => known.access === 'write');
    try {
      const admitted = isWrite ? keyspace.admitWrite() : undefined;
      if (admitted !== undefined) return runWhenAdmitted(queued, context, admitted);
      return runInOneTurn(queued, isWrite, context);
    } catch (error) {
      endTransaction(context);
      throw error;
    }
  },
});

async function runWhenAdmitted(
  queued: readonly QueuedCommand[],
  context: CommandContext,
  admitted: Promise<void>,
): Promise<void> {
  try {
    await admitted;
    runInOneTurn(queued, true, context);
    throwIfUndone(context.keyspace);
  } finally {
    endTransaction(context);
  }
}

function runInOneTurn(
  queued: readonly QueuedCommand[],
  isWrite: boolean,
  context: CommandContext,
): void {
  const { client, keyspace, reply } = context;
  const { isTouched } = client; // others may have written while the transaction waited
  endTransaction(context);
  if (isTouched) {
    reply.nullArray();
    return;
  }
  const mark = reply.mark();
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

/** Returns the error for which all of it must be undone. */
function runEach(queued: readonly QueuedCommand[], context: CommandContext): string | undefined {
  const { facts, keyspace, reply } = context;
  const start = reply.mark();
  const patternMeter = new PatternMeter();
  const load = new Load(keyspace, transactionLimits);
  for (const { known, args } of queued) {
    const inner: CommandContext = { ...context, args, patternMeter };
    known.estimate?.(inner, load);
    if (load.hasTooManyReads) return errorTexts.transactionReadsTooMuch;
    if (load.hasTooManyRemovals) return errorTexts.transactionTooLarge;
    facts.countCommand(known.fullName);
    try {
      // Never a promise: commands that may wait cannot be queued.
      void known.run(inner);
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      return thrown.code === 'limit-exceeded'
        ? errorTexts.transactionTooLarge
        : errorFor.failure(thrown);
    }
    if (reply.mark() - start > replyBytesMax) return errorTexts.transactionAnswersTooMuch;
  }
  return undefined;
}

export const transactionCommands: readonly Command[] = [discard, exec, multi, unwatch, watch];
