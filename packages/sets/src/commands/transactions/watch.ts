// WATCH: EXEC does nothing if the visible members of a watched key have changed since.
import { setsLimits } from '../../limits.js';
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';
import { refusesKeys } from '../name-limits.js';

const watchedKeysMax = setsLimits.watchedKeysMax.value;

export const watch: Command = {
  name: 'watch',
  arity: -2,
  flags: ['noscript', 'loading', 'stale', 'fast', 'allow_busy'],
  group: 'transactions',
  syntax: 'key [key ...]',
  summary: 'Lets the next EXEC do nothing if one of these keys was changed.',
  difference:
    'A key is touched when its visible members change at this node, by any client or peer. At most 1,024 keys.',
  keys: { first: 1, last: -1, step: 1 },
  run({ args, client, facts, keyspace, reply }) {
    if (client.queued !== undefined) {
      reply.error(errorTexts.watchInsideMulti);
      return;
    }
    if (refusesKeys(args, reply, 1, args.length)) return;
    if (client.watchedKeys + args.length - 1 > watchedKeysMax) {
      reply.error(errorTexts.tooManyWatched);
      return;
    }
    if (!facts.watchRoom.take(args.length - 1)) {
      reply.error(errorTexts.tooManyWatchers);
      return;
    }
    client.watchedKeys += args.length - 1;
    for (let key = 1; key < args.length; key += 1) keyspace.watch(args, key, client);
    reply.simple('OK');
  },
};
