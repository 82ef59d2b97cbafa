// UNWATCH: forgets all watched keys.
import type { Command } from '../command.js';
import { forgetWatches } from './end-transaction.js';

export const unwatch: Command = {
  name: 'unwatch',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'allow_busy'],
  group: 'transactions',
  summary: 'Forgets the watched keys.',
  run(context) {
    forgetWatches(context);
    context.reply.simple('OK');
  },
};
