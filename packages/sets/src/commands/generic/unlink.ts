// UNLINK key [key …]: the same as DEL, which holds nobody up either.
import type { Command } from '../command.js';
import { deleteBehaviour } from './delete-sets.js';

export const unlink: Command = {
  name: 'unlink',
  arity: -2,
  flags: ['write', 'fast'],
  group: 'generic',
  syntax: 'key [key ...]',
  summary: 'Removes sets, as DEL does.',
  difference: 'Removes what this node has seen; members that are added elsewhere meanwhile stay.',
  keys: { first: 1, last: -1, step: 1 },
  ...deleteBehaviour,
};
