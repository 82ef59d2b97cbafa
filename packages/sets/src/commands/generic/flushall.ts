// FLUSHALL [ASYNC|SYNC]: removes all sets.
import type { Command } from '../command.js';
import { flushBehaviour } from './flush-sets.js';

export const flushall: Command = {
  name: 'flushall',
  arity: -1,
  flags: ['write'],
  group: 'generic',
  syntax: '[ASYNC|SYNC]',
  summary: 'Removes all sets.',
  difference: 'Removes what this node has seen; members that are added elsewhere meanwhile stay.',
  ...flushBehaviour,
};
