// CLIENT SETINFO, from Redis 7.2: which library the client uses. Clients send it when they connect.
import type { Command } from '../../command.js';
import { clientInfoInvalidText, unrecognizedOptionText } from '../../errors.js';
import { isOption } from '../../option-word.js';
import { clientNameFlaw } from '../client-name.js';

export const clientSetinfo: Command = {
  name: 'setinfo',
  arity: 4,
  flags: ['noscript', 'loading', 'stale'],
  group: 'connection',
  syntax: 'LIB-NAME name | LIB-VER version',
  summary: 'Names the library of the client.',
  difference: 'From Redis 7.2. At most 1,024 bytes.',
  run({ args, client, reply }) {
    const isName = isOption(args, 2, 'lib-name');
    const option = args.text(2);
    const value = args.text(3);
    if (!isName && !isOption(args, 2, 'lib-ver')) {
      reply.error(unrecognizedOptionText(option));
      return;
    }
    const flaw = clientNameFlaw(value, clientInfoInvalidText(option));
    if (flaw !== undefined) {
      reply.error(flaw);
      return;
    }
    if (isName) client.libraryName = value;
    else client.libraryVersion = value;
    reply.simple('OK');
  },
};
