// TOUCH key [key …]: how many of the sets there are.
import type { Command } from '../command.js';
import { countBehaviour } from './count-sets.js';

export const touch: Command = {
  name: 'touch',
  arity: -2,
  flags: ['readonly', 'fast'],
  group: 'generic',
  syntax: 'key [key ...]',
  summary: 'Tells how many of the given sets there are.',
  keys: { first: 1, last: -1, step: 1 },
  ...countBehaviour,
};
