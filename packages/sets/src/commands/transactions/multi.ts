// MULTI: what follows is queued until EXEC.
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';

export const multi: Command = {
  name: 'multi',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'allow_busy'],
  group: 'transactions',
  summary: 'Starts a transaction: commands are queued until EXEC.',
  difference:
    'AUTH, HELLO, CONFIG SET and SYNCLINE.READ may have to wait, so they cannot be queued.',
  run({ client, reply }) {
    if (client.queued !== undefined) {
      reply.error(errorTexts.multiNested);
      return;
    }
    client.queued = [];
    reply.simple('OK');
  },
};
