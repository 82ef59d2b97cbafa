// ECHO: gives the message back.
import type { Command } from '../command.js';

export const echo: Command = {
  name: 'echo',
  arity: 2,
  flags: ['loading', 'stale', 'fast'],
  group: 'connection',
  syntax: 'message',
  summary: 'Answers the message.',
  run({ args, reply }) {
    reply.bulkOf(args, 1);
  },
};
