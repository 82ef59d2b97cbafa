// SISMEMBER key member: 1 or 0.
import type { Command } from '../command.js';
import { isMemberTooLong, refusesKeys } from '../name-limits.js';

export const sismember: Command = {
  name: 'sismember',
  arity: 3,
  flags: ['readonly', 'fast'],
  group: 'set',
  syntax: 'key member',
  summary: 'Tells whether a set has a member.',
  keys: { first: 1, last: 1, step: 1 },
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1)) return;
    reply.integer(!isMemberTooLong(args, 2) && keyspace.has(args, 1, 2) ? 1 : 0);
  },
};
