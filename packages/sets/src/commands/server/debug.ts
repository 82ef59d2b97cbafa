// DEBUG: not allowed, in the words of a Redis with its usual settings.
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';

export const debug: Command = {
  name: 'debug',
  arity: -2,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'server',
  syntax: '...',
  summary: 'Answers that it is not allowed.',
  difference: 'It cannot be allowed.',
  refusal: errorTexts.debugNotAllowed,
  run: ({ reply }) => reply.error(errorTexts.debugNotAllowed),
};
