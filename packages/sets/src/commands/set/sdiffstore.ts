// SDIFFSTORE destination key [key …]: keeps what SDIFF would show.
import type { Command } from '../command.js';
import { storeBehaviour } from './algebra-commands.js';

export const sdiffstore: Command = {
  name: 'sdiffstore',
  arity: -3,
  flags: ['write', 'denyoom'],
  group: 'set',
  syntax: 'destination key [key ...]',
  summary: 'Stores the members of the first given set that no other has.',
  difference:
    'A change beyond 65,536 elements or 4 MiB runs as several operations, with other writes kept out.',
  keys: { first: 1, last: -1, step: 1 },
  ...storeBehaviour('difference'),
};
