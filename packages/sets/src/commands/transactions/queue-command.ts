// Between MULTI and EXEC commands are kept, with bytes of their own, and answered with QUEUED.
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

export function queueCommand(known: KnownCommand, context: CommandContext): void {
  const { args, client, facts, reply } = context;
  const queued = client.queued ?? [];
  const bytes = COMMAND_BYTES + bytesOf(args);
  const isTooLarge =
    queued.length >= commandsMax ||
    client.queuedWords + args.length > wordsMax ||
    client.queuedBytes + bytes > bytesMax;
  if (isTooLarge || !facts.queueRoom.take(bytes)) {
    client.isQueueBroken = true;
    reply.error(isTooLarge ? errorTexts.queueFull : errorTexts.queuesFull);
    return;
  }
  queued.push({ known, args: args.keep() });
  client.queuedBytes += bytes;
  client.queuedWords += args.length;
  reply.simple('QUEUED');
}

/** Each word costs its bytes and two numbers. */
function bytesOf(args: ByteList): number {
  let bytes = 0;
  for (let index = 0; index < args.length; index += 1) bytes += args.sizeOf(index) + 8;
  return bytes;
}
