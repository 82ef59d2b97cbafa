// Between MULTI and EXEC commands are kept, with bytes of their own, and answered with QUEUED.
import type { ByteList } from '../../byte-list.js';
import { setsLimits } from '../../limits.js';
import type { CommandContext, KnownCommand } from '../command.js';
import { errorTexts } from '../errors.js';

const commandsMax = setsLimits.transactionCommandsMax.value;
const bytesMax = setsLimits.transactionBytesMax.value;

export function queueCommand(known: KnownCommand, { args, client, reply }: CommandContext): void {
  const queued = client.queued ?? [];
  const bytes = bytesOf(args);
  if (queued.length >= commandsMax || client.queuedBytes + bytes > bytesMax) {
    client.isQueueBroken = true;
    reply.error(errorTexts.queueFull);
    return;
  }
  queued.push({ known, args: args.keep() });
  client.queuedBytes += bytes;
  reply.simple('QUEUED');
}

/** Each word costs its bytes and two numbers. */
function bytesOf(args: ByteList): number {
  let bytes = 0;
  for (let index = 0; index < args.length; index += 1) bytes += args.sizeOf(index) + 8;
  return bytes;
}
