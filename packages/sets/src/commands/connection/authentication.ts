// AUTH and HELLO: the password, the protocol version and the name of a connection. The only user is `default`.
import { setsLimits } from '../../limits.js';
import { type Command, type CommandContext, type CommandFlag, commandsIn } from '../command.js';
import { errorFor, errorTexts } from '../errors.js';
import { integerWord, isOption } from '../words.js';
import { DEFAULT_USER } from './password-guard.js';

/** The Redis version whose replies and texts ours follow. Clients decide by it what they may use. */
export const REDIS_VERSION = '7.0.15';

const define = commandsIn('connection');
const PRINTABLE = /^[!-~]*$/;
const nameBytesMax = setsLimits.clientNameBytesMax.value;
const flags: readonly CommandFlag[] = [
  'noscript',
  'loading',
  'stale',
  'fast',
  'no_auth',
  'allow_busy',
];

const auth = define('auth', -2, flags, {
  syntax: '[user] password',
  summary: 'Authenticates the connection.',
  difference:
    'The only user is `default`. From the fifth wrong password of an address on, replies are delayed by a second. Not inside MULTI.',
  waits: true,
  run(context: CommandContext) {
    const { args, facts, reply } = context;
    if (args.length > 3) return reply.error(errorTexts.syntax);
    if (args.length === 2 && facts.checkPassword === undefined)
      return reply.error(errorTexts.noPasswordSet);
    const user = args.length === 3 ? args.text(1) : DEFAULT_USER;
    const password = args.bytes(args.length - 1);
    return authenticate(context, { user, password }, () => reply.simple('OK'));
  },
});

const hello = define('hello', -1, flags, {
  syntax: '[2|3 [AUTH user password] [SETNAME name]]',
  summary: 'Selects RESP2 or RESP3 and returns facts about the server.',
  difference: 'Not inside MULTI, like AUTH.',
  waits: true,
  run(context: CommandContext) {
    const request = readHello(context);
    if (typeof request === 'string') return context.reply.error(request);
    if (request.credentials === undefined) return answerHello(context, request);
    return authenticate(context, request.credentials, () => answerHello(context, request));
  },
});

interface Credentials {
  readonly user: string;
  readonly password: Uint8Array;
}

/** A promise where wrong guesses have made it slow. Without a password anything is right for `default`. */
function authenticate(
  { client, facts, reply }: CommandContext,
  { user, password }: Credentials,
  onSuccess: () => void,
): void | Promise<void> {
  const finish = (isRight: boolean) => {
    if (!isRight) return reply.error(errorTexts.wrongPassword);
    client.isAuthenticated = true;
    onSuccess();
  };
  const isRight = facts.checkPassword?.(client, user, password) ?? user === DEFAULT_USER;
  return typeof isRight === 'boolean' ? finish(isRight) : isRight.then(finish);
}

interface HelloRequest {
  protocol: 2 | 3;
  credentials: Credentials | undefined;
  name: string | undefined;
}

/** A text is the error to answer with. */
function readHello({ args, client }: CommandContext): HelloRequest | string {
  const request: HelloRequest = {
    protocol: client.protocol,
    credentials: undefined,
    name: undefined,
  };
  if (args.length > 1) {
    const version = integerWord(args, 1);
    if (version === undefined) return errorTexts.protocolNotInteger;
    if (version !== 2 && version !== 3) return errorTexts.noProtocol;
    request.protocol = version;
  }
  for (let index = 2; index < args.length; index += 1) {
    const wordsLeft = args.length - 1 - index;
    if (isOption(args, index, 'auth') && wordsLeft >= 2) {
      request.credentials = { user: args.text(index + 1), password: args.bytes(index + 2) };
      index += 2;
    } else if (isOption(args, index, 'setname') && wordsLeft >= 1) {
      request.name = args.text(index + 1);
      const flaw = clientNameFlaw(request.name);
      if (flaw !== undefined) return flaw;
      index += 1;
    } else return errorFor.helloOption(args.text(index));
  }
  return request;
}

function answerHello({ client, reply }: CommandContext, { protocol, name }: HelloRequest): void {
  if (!client.isAuthenticated) {
    reply.error(errorTexts.helloNotAuthenticated);
    return;
  }
  if (name !== undefined) client.name = name;
  client.protocol = protocol;
  const facts = {
    server: 'redis',
    version: REDIS_VERSION,
    proto: protocol,
    id: client.id,
    mode: 'standalone',
    role: 'master',
  };
  reply.map(7);
  for (const [fact, value] of Object.entries(facts)) {
    reply.bulkText(fact);
    if (typeof value === 'number') reply.integer(value);
    else reply.bulkText(value);
  }
  reply.bulkText('modules');
  reply.array(0);
}

/**
 * Why this cannot be the name of a client; undefined if it can. Names are shown in lines of words, so they hold no
 * blanks and no control bytes. `invalid` is the text for such bytes.
 */
export function clientNameFlaw(
  name: string,
  invalid: string = errorTexts.clientNameInvalid,
): string | undefined {
  if (name.length > nameBytesMax) return errorTexts.clientNameTooLong;
  return PRINTABLE.test(name) ? undefined : invalid;
}

export const authenticationCommands: readonly Command[] = [auth, hello];
