// AUTH and HELLO: the password, the protocol version and the name of a connection. The only user is `default`.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@syncline/kernel';
import { setsLimits } from '../../limits.js';
import type { Client } from '../client.js';
import { type Command, type CommandContext, type CommandFlag, commandsIn } from '../command.js';
import { errorFor, errorTexts } from '../errors.js';
import { integerWord, isOption } from '../words.js';

/** The Redis version whose replies and error texts we follow. Clients use it to decide which features are available. */
export const REDIS_VERSION = '7.0.15';

export const DEFAULT_USER = 'default';

const define = commandsIn('connection');
const guessesMax = setsLimits.passwordGuessesMax.value;
const guessersMax = setsLimits.guessersMax.value;
const delayMs = setsLimits.passwordDelayMs.value;
const PRINTABLE = /^[!-~]*$/;
const nameBytesMax = setsLimits.clientNameBytesMax.value;
/** Flags of commands that also answer clients without a password. */
export const openFlags: readonly CommandFlag[] = [
  'noscript',
  'loading',
  'stale',
  'fast',
  'no_auth',
  'allow_busy',
];

const auth = define('auth', -2, openFlags, {
  syntax: '[user] password',
  summary: 'Authenticates the connection.',
  difference:
    'The only user is `default`. From the fifth wrong password from an address on, replies are delayed by a second. Not inside MULTI.',
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

const hello = define('hello', -1, openFlags, {
  syntax: '[2|3 [AUTH user password] [SETNAME name]]',
  summary: 'Selects RESP2 or RESP3 and returns information about the server.',
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

/** A promise if wrong guesses have slowed it down. If no password is set, any password is right for `default`. */
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
 * Why this cannot be the name of a client; undefined if it can. Names are shown in space-separated lines, so they
 * contain no blanks and no control bytes. `invalid` is the text for such bytes.
 */
export function clientNameFlaw(
  name: string,
  invalid: string = errorTexts.clientNameInvalid,
): string | undefined {
  if (name.length > nameBytesMax) return errorTexts.clientNameTooLong;
  return PRINTABLE.test(name) ? undefined : invalid;
}

export const authenticationCommands: readonly Command[] = [auth, hello];

/**
 * Checks passwords and slows down guessing. Digests are compared, in constant time, so that neither the length nor the
 * first different byte of the password can be measured. Wrong passwords are counted per address; after a few of them
 * every answer to that address is delayed, also the one to the right password, which resets the count.
 */
export class PasswordGuard {
  readonly #clock: Clock;
  readonly #digest: Uint8Array;
  /** Wrong passwords by host, the host with the most recent one last. */
  readonly #guesses = new Map<string, number>();

  constructor(clock: Clock, password: string) {
    this.#clock = clock;
    this.#digest = digestOf(Buffer.from(password));
  }

  /** A promise once this address has sent too many wrong ones. */
  check(client: Client, user: string, password: Uint8Array): boolean | Promise<boolean> {
    const { host } = client.address;
    const isPassword = timingSafeEqual(digestOf(password), this.#digest);
    const isRight = isPassword && user === DEFAULT_USER;
    const guesses = this.#guesses.get(host) ?? 0;
    if (isRight) this.#guesses.delete(host);
    else this.#count(host, guesses + 1);
    const isLate = guesses >= guessesMax;
    return isLate ? this.#clock.sleep(delayMs, client.gone).then(() => isRight) : isRight;
  }

  #count(host: string, guesses: number): void {
    this.#guesses.delete(host);
    this.#guesses.set(host, guesses);
    if (this.#guesses.size <= guessersMax) return;
    for (const oldest of this.#guesses.keys()) {
      this.#guesses.delete(oldest);
      return;
    }
  }
}

function digestOf(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}
