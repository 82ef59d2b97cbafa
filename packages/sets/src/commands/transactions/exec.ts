// EXEC: runs what was queued, or says why not.
import type { Command, CommandContext } from '../command.js';
import { errorTexts } from '../errors.js';
import { endTransaction } from './end-transaction.js';
import { runTransaction } from './run-transaction.js';

export const exec: Command = {
  name: 'exec',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'skip_slowlog'],
  group: 'transactions',
  summary: 'Runs the queued commands as one operation, seen whole or not at all at every node.',
  difference:
    'It runs within one turn. One that reads more than 65,536 members and names or 32 MiB, or changes more than fits into one operation (65,536 elements, 4 MiB), is refused whole.',
  run(context: CommandContext) {
    const { client, facts, reply } = context;
    const { queued } = client;
    if (queued === undefined) {
      reply.error(errorTexts.execWithoutMulti);
      return undefined;
    }
    if (client.isQueueBroken) {
      endTransaction(context);
      reply.error(errorTexts.execAborted);
      return undefined;
    }
    const isWrite = queued.some(({ known }) => known.access === 'write');
    if (isWrite && facts.phase() === 'closing') {
      endTransaction(context);
      reply.error(errorTexts.closing);
      return undefined;
    }
    client.hasWalked = true;
    return runTransaction(queued, context);
  },
};
