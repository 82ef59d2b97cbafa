// SADD key member [member …]: how many members are new. Each gets a new dot, so that it wins over a remove
// elsewhere that has not seen this.
import type { Command } from '../command.js';
import { refusesKeys, refusesMembers } from '../name-limits.js';
import { changeInParts, walksMembers } from './member-parts.js';

export const sadd: Command = {
  name: 'sadd',
  arity: -3,
  flags: ['write', 'denyoom', 'fast'],
  group: 'set',
  syntax: 'key member [member ...]',
  summary: 'Adds members to a set.',
  difference:
    'More than 65,536 members, or about 3 MiB of them, are added by several operations, with other writes kept out.',
  keys: { first: 1, last: 1, step: 1 },
  walks: (args) => walksMembers(args, 2),
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1) || refusesMembers(args, reply, 2)) return;
    reply.integer(keyspace.add(args, 1, 2));
  },
  async runLong(context, signal) {
    const { args, reply } = context;
    if (refusesKeys(args, reply, 1) || refusesMembers(args, reply, 2)) return;
    reply.integer(await changeInParts(context, 'add', signal));
  },
};
