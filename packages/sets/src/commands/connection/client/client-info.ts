// CLIENT INFO: the line of this connection.
import type { Command } from '../../command.js';
import { clientLine } from './client-line.js';

export const clientInfo: Command = {
  name: 'info',
  arity: 2,
  flags: ['noscript', 'loading', 'stale'],
  group: 'connection',
  summary: 'Tells about this connection.',
  difference: 'Without the words about buffers and file descriptors.',
  run({ client, facts, reply }) {
    reply.verbatim(clientLine(client, facts.clock.monotonicMs()));
  },
};
