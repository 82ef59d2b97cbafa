// SELECT: there is only database 0.
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';
import { integerWord } from '../integer-word.js';

const INT_MAX = 2 ** 31 - 1;
const INT_MIN = -(2 ** 31);

export const select: Command = {
  name: 'select',
  arity: 2,
  flags: ['loading', 'stale', 'fast'],
  group: 'connection',
  syntax: 'index',
  summary: 'Takes database 0.',
  difference: 'There is only database 0.',
  run({ args, reply }) {
    const index = integerWord(args, 1);
    if (index === undefined) reply.error(errorTexts.notInteger);
    else if (index < INT_MIN || index > INT_MAX) reply.error(errorTexts.outOfIntRange);
    else if (index !== 0) reply.error(errorTexts.databaseOutOfRange);
    else reply.simple('OK');
  },
};
