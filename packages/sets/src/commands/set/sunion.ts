// SUNION key [key …]: the members that any set has.
import type { Command } from '../command.js';
import { algebraBehaviour } from './algebra-commands.js';

export const sunion: Command = {
  name: 'sunion',
  arity: -2,
  flags: ['readonly'],
  group: 'set',
  syntax: 'key [key ...]',
  summary: 'Shows the members that any of the given sets has.',
  difference: 'A result above 32 MiB is refused; the STORE form has no such limit.',
  keys: { first: 1, last: -1, step: 1 },
  ...algebraBehaviour('union'),
};
