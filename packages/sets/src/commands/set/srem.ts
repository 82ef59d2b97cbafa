// SREM key member [member …]: how many members were there.
import type { Command } from '../command.js';
import { refusesKeys, refusesMembers } from '../name-limits.js';
import { changeInParts, walksMembers } from './member-parts.js';

export const srem: Command = {
  name: 'srem',
  arity: -3,
  flags: ['write', 'fast'],
  group: 'set',
  syntax: 'key member [member ...]',
  summary: 'Removes members from a set.',
  difference:
    'More than 65,536 members, or about 3 MiB of them, are removed by several operations, with other writes kept out.',
  keys: { first: 1, last: 1, step: 1 },
  walks: (args) => walksMembers(args, 2),
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1) || refusesMembers(args, reply, 2)) return;
    reply.integer(keyspace.remove(args, 1, 2));
  },
  async runLong(context, signal) {
    const { args, reply } = context;
    if (refusesKeys(args, reply, 1) || refusesMembers(args, reply, 2)) return;
    reply.integer(await changeInParts(context, 'remove', signal));
  },
};
