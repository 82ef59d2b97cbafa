// HELLO: chooses the protocol, with AUTH and a name on the way.
import type { Command, CommandContext } from '../command.js';
import { errorTexts, helloOptionText } from '../errors.js';
import { integerWord } from '../integer-word.js';
import { isOption } from '../option-word.js';
import { REDIS_VERSION } from '../redis-version.js';
import { authenticate } from './authenticate.js';
import { clientNameFlaw } from './client-name.js';

export const hello: Command = {
  name: 'hello',
  arity: -1,
  flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth', 'allow_busy'],
  group: 'connection',
  syntax: '[2|3 [AUTH user password] [SETNAME name]]',
  summary: 'Chooses RESP2 or RESP3 and tells about the server.',
  difference: 'Not inside MULTI, as AUTH.',
  waits: true,
  run(context: CommandContext) {
    const { reply } = context;
    const wish = readWish(context);
    if (typeof wish === 'string') {
      reply.error(wish);
      return undefined;
    }
    if (wish.credentials === undefined) return answer(context, wish);
    const { user, password } = wish.credentials;
    const then = (isRight: boolean) => {
      if (isRight) answer(context, wish);
      else reply.error(errorTexts.wrongPassword);
    };
    const isRight = authenticate(context, user, password);
    return typeof isRight === 'boolean' ? then(isRight) : isRight.then(then);
  },
};

interface Wish {
  protocol: 2 | 3;
  credentials: { readonly user: string; readonly password: Uint8Array } | undefined;
  name: string | undefined;
}

/** A text says what is wrong with it. */
function readWish({ args, client }: CommandContext): Wish | string {
  const wish: Wish = { protocol: client.protocol, credentials: undefined, name: undefined };
  if (args.length > 1) {
    const version = integerWord(args, 1);
    if (version === undefined) return errorTexts.protocolNotInteger;
    if (version !== 2 && version !== 3) return errorTexts.noProtocol;
    wish.protocol = version;
  }
  for (let index = 2; index < args.length; index += 1) {
    const wordsLeft = args.length - 1 - index;
    if (isOption(args, index, 'auth') && wordsLeft >= 2) {
      wish.credentials = { user: args.text(index + 1), password: args.bytes(index + 2) };
      index += 2;
    } else if (isOption(args, index, 'setname') && wordsLeft >= 1) {
      wish.name = args.text(index + 1);
      const flaw = clientNameFlaw(wish.name);
      if (flaw !== undefined) return flaw;
      index += 1;
    } else return helloOptionText(args.text(index));
  }
  return wish;
}

function answer({ client, reply }: CommandContext, { protocol, name }: Wish): void {
  if (!client.isAuthenticated) {
    reply.error(errorTexts.helloNotAuthenticated);
    return;
  }
  if (name !== undefined) client.name = name;
  client.protocol = protocol;
  reply.map(7);
  reply.bulkText('server');
  reply.bulkText('redis');
  reply.bulkText('version');
  reply.bulkText(REDIS_VERSION);
  reply.bulkText('proto');
  reply.integer(protocol);
  reply.bulkText('id');
  reply.integer(client.id);
  reply.bulkText('mode');
  reply.bulkText('standalone');
  reply.bulkText('role');
  reply.bulkText('master');
  reply.bulkText('modules');
  reply.array(0);
}
