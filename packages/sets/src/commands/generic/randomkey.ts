// RANDOMKEY: the name of a random set.
import { randomBelow } from '@syncline/kernel';
import type { Reply } from '../../resp/reply.js';
import type { Command } from '../command.js';
import { withView } from '../long-work.js';
import { walksKeyspace } from '../walks.js';
import { namesAtHand } from './names-at-hand.js';

export const randomkey: Command = {
  name: 'randomkey',
  arity: 1,
  flags: ['readonly'],
  group: 'generic',
  summary: 'Shows the name of a random set.',
  walks: () => walksKeyspace,
  run(context) {
    const names = namesAtHand(context);
    const name = names[randomBelow(context.facts.random, Math.max(1, names.length))];
    writeName(context.reply, name);
  },
  async runLong({ keyspace, reply }, signal) {
    writeName(reply, await withView(keyspace, signal, (view) => view.randomSet()));
  },
};

function writeName(reply: Reply, name: Uint8Array | undefined): void {
  if (name === undefined) reply.nullBulk();
  else reply.bulk(name, 0, name.length);
}
