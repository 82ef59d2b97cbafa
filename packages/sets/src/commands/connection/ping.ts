// PING: is the server there?
import type { Command } from '../command.js';
import { wrongArgumentsText } from '../errors.js';

export const ping: Command = {
  name: 'ping',
  arity: -1,
  flags: ['fast'],
  group: 'connection',
  syntax: '[message]',
  summary: 'Answers PONG, or the message.',
  run({ args, reply }) {
    if (args.length > 2) reply.error(wrongArgumentsText('ping'));
    else if (args.length === 2) reply.bulkOf(args, 1);
    else reply.simple('PONG');
  },
};
