// WAIT: how many peers have applied the last write of this connection. A node without peers has none to wait for.
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';
import { integerWord } from '../integer-word.js';

export const wait: Command = {
  name: 'wait',
  arity: 3,
  flags: ['noscript'],
  group: 'generic',
  syntax: 'peers milliseconds',
  summary: 'Gives the number of peers that have applied the writes of this connection.',
  difference: 'Answers 0 at once: this node has no peers.',
  run({ args, reply }) {
    const timeoutMs = integerWord(args, 2);
    if (integerWord(args, 1) === undefined) reply.error(errorTexts.notInteger);
    else if (timeoutMs === undefined) reply.error(errorTexts.timeoutNotInteger);
    else if (timeoutMs < 0) reply.error(errorTexts.timeoutNegative);
    else reply.integer(0);
  },
};
