// SCARD key: how many members a set has.
import type { Command } from '../command.js';
import { refusesKeys } from '../name-limits.js';

export const scard: Command = {
  name: 'scard',
  arity: 2,
  flags: ['readonly', 'fast'],
  group: 'set',
  syntax: 'key',
  summary: 'Tells how many members a set has.',
  keys: { first: 1, last: 1, step: 1 },
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1)) return;
    reply.integer(keyspace.cardinality(args, 1));
  },
};
