// PERSIST key: 0, as no set expires.
import type { Command } from '../command.js';
import { refusesKeys } from '../name-limits.js';

export const persist: Command = {
  name: 'persist',
  arity: 2,
  flags: ['write', 'fast'],
  group: 'generic',
  syntax: 'key',
  summary: 'Does nothing: sets do not expire.',
  keys: { first: 1, last: 1, step: 1 },
  run({ args, reply }) {
    if (refusesKeys(args, reply, 1)) return;
    reply.integer(0);
  },
};
