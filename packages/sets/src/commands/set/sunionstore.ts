// SUNIONSTORE destination key [key …]: keeps what SUNION would show.
import type { Command } from '../command.js';
import { storeBehaviour } from './algebra-commands.js';

export const sunionstore: Command = {
  name: 'sunionstore',
  arity: -3,
  flags: ['write', 'denyoom'],
  group: 'set',
  syntax: 'destination key [key ...]',
  summary: 'Stores the members that any of the given sets has.',
  difference:
    'A change beyond 65,536 elements or 4 MiB runs as several operations, with other writes kept out.',
  keys: { first: 1, last: -1, step: 1 },
  ...storeBehaviour('union'),
};
