// FUNCTION FLUSH: there are no functions, so they are flushed. Test suites of clients send it at their start.
import type { Command } from '../command.js';
import { errorTexts, wrongArgumentsText } from '../errors.js';
import { isOption } from '../option-word.js';

const flush: Command = {
  name: 'flush',
  arity: -2,
  flags: ['write', 'noscript'],
  group: 'server',
  syntax: '[ASYNC|SYNC]',
  summary: 'Answers OK: there are no functions.',
  run({ args, reply }) {
    if (args.length > 3) reply.error(errorTexts.functionFlushArguments);
    else if (args.length < 3 || isOption(args, 2, 'sync') || isOption(args, 2, 'async'))
      reply.simple('OK');
    else reply.error(errorTexts.functionFlushOption);
  },
};

export const functionCommand: Command = {
  name: 'function',
  arity: -2,
  flags: [],
  group: 'server',
  summary: 'There are no functions.',
  difference: 'Only FLUSH is known.',
  subcommands: [flush],
  run: ({ reply }) => reply.error(wrongArgumentsText('function')),
};
