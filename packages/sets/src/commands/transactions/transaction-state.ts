// What a connection keeps between MULTI and EXEC: its queued commands and its watched keys.
//
// S10  What one connection queues is bounded, and so is what all of them queue together.
import type { ByteList } from '../../byte-list.js';
import { setsLimits } from '../../limits.js';
import type { CommandContext, KnownCommand } from '../command.js';
import { errorTexts } from '../errors.js';

const commandsMax = setsLimits.transactionCommandsMax.value;
const wordsMax = setsLimits.transactionWordsMax.value;
const bytesMax = setsLimits.transactionBytesMax.value;
/** About what a queued command takes besides its words. */
const COMMAND_BYTES = 768;
/** The indices of a word in its list. */
const WORD_BYTES = 8;

type State = Pick<CommandContext, 'client' | 'facts' | 'keyspace'>;

/** Keeps a copy of the command and answers with QUEUED. */
export function queueCommand(known: KnownCommand, context: CommandContext): void {
  const { args, client, facts, reply } = context;
  const queued = client.queued ?? [];
  const bytes = COMMAND_BYTES + bytesOf(args);
  const isTooLarge =
    queued.length >= commandsMax ||
    client.queuedWords + args.length > wordsMax ||
    client.queuedBytes + bytes > bytesMax;
  if (isTooLarge || !facts.queueQuota.tryTake(bytes)) {
    client.isQueueBroken = true;
    reply.error(isTooLarge ? errorTexts.queueFull : errorTexts.queuesFull);
    return;
  }
  queued.push({ known, args: args.keep() });
  client.queuedBytes += bytes;
  client.queuedWords += args.length;
  reply.simple('QUEUED');
}

function bytesOf(args: ByteList): number {
  let bytes = 0;
  for (let index = 0; index < args.length; index += 1) bytes += args.sizeOf(index) + WORD_BYTES;
  return bytes;
}

/** After EXEC, DISCARD, RESET and the end of the connection: no queued commands, no watched keys. */
export function endTransaction(state: State): void {
  const { client, facts } = state;
  facts.queueQuota.release(client.queuedBytes);
  client.queued = undefined;
  client.queuedBytes = 0;
  client.queuedWords = 0;
  client.isQueueBroken = false;
  forgetWatches(state);
}

export function forgetWatches({ client, facts, keyspace }: State): void {
  if (client.watchedKeys > 0) keyspace.unwatch(client);
  facts.watchQuota.release(client.watchedKeys);
  client.watchedKeys = 0;
  client.isTouched = false;
}
