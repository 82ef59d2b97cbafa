// SYNCLINE.VV: the version of this node, a token for SYNCLINE.READ AFTER at any node.
import { actorId, dot, formatDot } from '@syncline/kernel';
import type { Command, CommandContext } from '../command.js';
import { errorTexts } from '../errors.js';
import { isOption } from '../option-word.js';

export const synclineVv: Command = {
  name: 'syncline.vv',
  arity: -1,
  flags: ['readonly', 'fast'],
  group: 'syncline',
  syntax: '[MINE]',
  summary:
    'Gives what this node has applied, as a token for SYNCLINE.READ AFTER; with MINE the smallest that covers the writes of this connection.',
  run(context) {
    const { args, keyspace, reply } = context;
    if (args.length === 1) reply.bulkText(keyspace.version().toString());
    else if (args.length === 2 && isOption(args, 1, 'mine')) reply.bulkText(mine(context));
    else reply.error(errorTexts.syntax);
  },
};

/** A counter of this connection whose commit failed was taken back, and must not be waited for. */
function mine({ client, facts, keyspace }: CommandContext): string {
  keyspace.version(); // a read of all: the counter may not be stored yet, and is given out again if it never is
  const counter = Math.min(client.lastCounter, keyspace.lastCounter());
  return counter === 0 ? '-' : formatDot(dot(actorId(facts.nodeId, facts.epoch), counter));
}
