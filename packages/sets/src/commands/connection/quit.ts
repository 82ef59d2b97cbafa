// QUIT: answers, then closes the connection.
import type { Command } from '../command.js';

export const quit: Command = {
  name: 'quit',
  arity: -1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth', 'allow_busy'],
  group: 'connection',
  summary: 'Closes the connection behind the answer.',
  run({ client, reply }) {
    reply.simple('OK');
    client.endAfterReply();
  },
};
