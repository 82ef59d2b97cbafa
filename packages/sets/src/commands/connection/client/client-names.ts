// CLIENT GETNAME and SETNAME: the name that a connection gives itself.
import type { Command } from '../../command.js';
import { clientNameFlaw } from '../client-name.js';

export const clientGetname: Command = {
  name: 'getname',
  arity: 2,
  flags: ['noscript', 'loading', 'stale'],
  group: 'connection',
  summary: 'Gives the name of this connection.',
  run({ client, reply }) {
    if (client.name === '') reply.nullBulk();
    else reply.bulkText(client.name);
  },
};

export const clientSetname: Command = {
  name: 'setname',
  arity: 3,
  flags: ['noscript', 'loading', 'stale'],
  group: 'connection',
  syntax: 'name',
  summary: 'Names this connection.',
  difference: 'At most 1,024 bytes.',
  run({ args, client, reply }) {
    const name = args.text(2);
    const flaw = clientNameFlaw(name);
    if (flaw !== undefined) {
      reply.error(flaw);
      return;
    }
    client.name = name;
    reply.simple('OK');
  },
};
