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
  wordsMax: setsLimits.turnReadsMax.value,
  run({ args, client, facts, keyspace, reply }) {
    if (client.queued !== undefined) return reply.error(errorTexts.watchInsideMulti);
    if (refusesKeys(args, reply, 1, args.length)) return;
    // Those before one that is refused stay watched: that lets EXEC do nothing too often, and never too rarely.
    for (let key = 1; key < args.length; key += 1) {
      if (keyspace.isWatched(args, key, client)) continue;
      if (client.watchedKeys >= watchedKeysMax) return reply.error(errorTexts.tooManyWatched);
      if (!facts.watchRoom.take(1)) return reply.error(errorTexts.tooManyWatchers);
      client.watchedKeys += 1;
      keyspace.watch(args, key, client);
    }
    reply.simple('OK');
  },
};
