// AUTH: shows the password.
import type { Command, CommandContext } from '../command.js';
import { errorTexts } from '../errors.js';
import { authenticate, DEFAULT_USER } from './authenticate.js';

export const auth: Command = {
  name: 'auth',
  arity: -2,
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth', 'allow_busy'],
  group: 'connection',
  syntax: '[user] password',
  summary: 'Shows the password of the server.',
  difference:
    'The only user is `default`. From the fifth wrong password of an address answers come a second late. Not inside MULTI.',
  waits: true,
  run(context: CommandContext) {
    const { args, facts, reply } = context;
    if (args.length > 3) {
      reply.error(errorTexts.syntax);
      return undefined;
    }
    if (args.length === 2 && facts.checkPassword === undefined) {
      reply.error(errorTexts.noPasswordSet);
      return undefined;
    }
    const user = args.length === 3 ? args.text(1) : DEFAULT_USER;
    const answer = (isRight: boolean) => {
      if (isRight) reply.simple('OK');
      else reply.error(errorTexts.wrongPassword);
    };
    const isRight = authenticate(context, user, args.bytes(args.length - 1));
    return typeof isRight === 'boolean' ? answer(isRight) : isRight.then(answer);
  },
};
