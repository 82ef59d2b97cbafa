// FLUSHDB [ASYNC|SYNC]: the same as FLUSHALL, as there is one database.
import type { Command } from '../command.js';
import { flushBehaviour } from './flush-sets.js';

export const flushdb: Command = {
  name: 'flushdb',
  arity: -1,
  flags: ['write'],
  group: 'generic',
  syntax: '[ASYNC|SYNC]',
  summary: 'Removes all sets.',
  difference: 'Removes what this node has seen; members that are added elsewhere meanwhile stay.',
  ...flushBehaviour,
};
