// CLIENT ID: the number of this connection.
import type { Command } from '../../command.js';

export const clientId: Command = {
  name: 'id',
  arity: 2,
  flags: ['noscript', 'loading', 'stale'],
  group: 'connection',
  summary: 'Gives the number of this connection.',
  run: ({ client, reply }) => reply.integer(client.id),
};
