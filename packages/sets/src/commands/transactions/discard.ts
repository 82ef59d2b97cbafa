// DISCARD: forgets the queued commands and the watched keys.
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';
import { endTransaction } from './end-transaction.js';

export const discard: Command = {
  name: 'discard',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'allow_busy'],
  group: 'transactions',
  summary: 'Drops a transaction.',
  run(context) {
    const { client, reply } = context;
    if (client.queued === undefined) {
      reply.error(errorTexts.discardWithoutMulti);
      return;
    }
    endTransaction(context);
    reply.simple('OK');
  },
};
