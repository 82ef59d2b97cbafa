// SINTER key [key …]: the members that all sets have.
import type { Command } from '../command.js';
import { algebraBehaviour } from './algebra-commands.js';

export const sinter: Command = {
  name: 'sinter',
  arity: -2,
  flags: ['readonly'],
  group: 'set',
  syntax: 'key [key ...]',
  summary: 'Shows the members that all of the given sets have.',
  difference: 'A result above 32 MiB is refused; the STORE form has no such limit.',
  keys: { first: 1, last: -1, step: 1 },
  ...algebraBehaviour('intersection'),
};
