// SDIFF key [key …]: the members of the first set that no other has.
import type { Command } from '../command.js';
import { algebraBehaviour } from './algebra-commands.js';

export const sdiff: Command = {
  name: 'sdiff',
  arity: -2,
  flags: ['readonly'],
  group: 'set',
  syntax: 'key [key ...]',
  summary: 'Shows the members of the first set that no other given set has.',
  difference: 'A result above 32 MiB is refused; the STORE form has no such limit.',
  keys: { first: 1, last: -1, step: 1 },
  ...algebraBehaviour('difference'),
};
