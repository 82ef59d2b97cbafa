// CLIENT REPLY: whether this connection gets answers. OFF and SKIP are not answered themselves; the session
// drops what they silence.
import type { Command } from '../../command.js';
import { errorTexts } from '../../errors.js';
import { isOption } from '../../option-word.js';

export const clientReply: Command = {
  name: 'reply',
  arity: 3,
  flags: ['noscript', 'loading', 'stale'],
  group: 'connection',
  syntax: 'ON|OFF|SKIP',
  summary: 'Switches the answers to this connection off, or drops the next one.',
  run({ args, client, reply }) {
    if (isOption(args, 2, 'on')) {
      client.replies = 'on';
      reply.simple('OK');
    } else if (isOption(args, 2, 'off')) client.replies = 'off';
    else if (!isOption(args, 2, 'skip')) reply.error(errorTexts.syntax);
    else if (client.replies !== 'off') client.replies = 'skip-next';
  },
};
