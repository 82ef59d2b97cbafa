// RESET: makes the connection as it was when it was opened.
import type { Command } from '../command.js';
import { endTransaction } from '../transactions/end-transaction.js';

export const reset: Command = {
  name: 'reset',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth', 'allow_busy'],
  group: 'connection',
  summary:
    'Ends a transaction, forgets name and watched keys, goes back to RESP2 and asks for AUTH again.',
  run(context) {
    const { client, facts, reply } = context;
    endTransaction(context);
    client.name = '';
    client.protocol = 2;
    client.replies = 'on';
    client.isAuthenticated = facts.checkPassword === undefined;
    reply.simple('RESET');
  },
};
