// DEL key [key …]: how many of the sets were there.
import type { Command } from '../command.js';
import { deleteBehaviour } from './delete-sets.js';

export const del: Command = {
  name: 'del',
  arity: -2,
  flags: ['write'],
  group: 'generic',
  syntax: 'key [key ...]',
  summary: 'Removes sets.',
  difference: 'Removes what this node has seen; members that are added elsewhere meanwhile stay.',
  keys: { first: 1, last: -1, step: 1 },
  ...deleteBehaviour,
};
