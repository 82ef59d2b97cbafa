// SMEMBERS key: all members. A large set is streamed from a view, at the pace of the client.
import type { Command } from '../command.js';
import { withView, writeBatches } from '../long-work.js';
import { refusesKeys } from '../name-limits.js';
import { walksSets } from '../walks.js';

export const smembers: Command = {
  name: 'smembers',
  arity: 2,
  flags: ['readonly'],
  group: 'set',
  syntax: 'key',
  summary: 'Shows all members of a set.',
  keys: { first: 1, last: 1, step: 1 },
  walks: (args) => walksSets(args, 1, 2),
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1)) return;
    reply.set(keyspace.cardinality(args, 1));
    keyspace.forEach(args, 1, (buffer, start, end) => reply.bulk(buffer, start, end));
  },
  async runLong(context, signal) {
    const { args, keyspace, reply } = context;
    if (refusesKeys(args, reply, 1)) return;
    const set = args.bytes(1);
    await withView(keyspace, signal, async (view) => {
      reply.set(view.cardinality(set));
      await writeBatches(context, view.members(set));
    });
  },
};
