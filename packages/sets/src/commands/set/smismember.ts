// SMISMEMBER key member [member …]: 1 or 0 for each.
import type { Command } from '../command.js';
import { withView } from '../long-work.js';
import { isMemberTooLong, refusesKeys } from '../name-limits.js';
import { walksNames } from '../walks.js';

export const smismember: Command = {
  name: 'smismember',
  arity: -3,
  flags: ['readonly', 'fast'],
  group: 'set',
  syntax: 'key member [member ...]',
  summary: 'Tells for each of several members whether a set has it.',
  keys: { first: 1, last: 1, step: 1 },
  walks: (args) => walksNames(args, 2),
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1)) return;
    reply.array(args.length - 2);
    for (let member = 2; member < args.length; member += 1)
      reply.integer(!isMemberTooLong(args, member) && keyspace.has(args, 1, member) ? 1 : 0);
  },
  async runLong({ args, keyspace, reply }, signal) {
    if (refusesKeys(args, reply, 1)) return;
    const set = args.bytes(1);
    await withView(keyspace, signal, async (view) => {
      reply.array(args.length - 2);
      for (let member = 2; member < args.length; member += 1) {
        const isThere = !isMemberTooLong(args, member) && view.has(set, args.bytes(member));
        reply.integer(isThere ? 1 : 0);
        const pause = reply.room() ?? keyspace.breathe();
        if (pause !== undefined) await pause;
      }
    });
  },
};
