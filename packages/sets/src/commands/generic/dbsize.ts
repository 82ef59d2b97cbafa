// DBSIZE: how many sets there are.
import type { Command } from '../command.js';

export const dbsize: Command = {
  name: 'dbsize',
  arity: 1,
  flags: ['readonly', 'fast'],
  group: 'generic',
  summary: 'Tells how many sets there are.',
  run({ keyspace, reply }) {
    reply.integer(keyspace.setsCount());
  },
};
