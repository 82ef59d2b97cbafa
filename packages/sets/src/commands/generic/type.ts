// TYPE key: `set` or `none`.
import type { Command } from '../command.js';
import { refusesKeys } from '../name-limits.js';

export const type: Command = {
  name: 'type',
  arity: 2,
  flags: ['readonly', 'fast'],
  group: 'generic',
  syntax: 'key',
  summary: 'Tells whether a name belongs to a set.',
  keys: { first: 1, last: 1, step: 1 },
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1)) return;
    reply.simple(keyspace.cardinality(args, 1) > 0 ? 'set' : 'none');
  },
};
