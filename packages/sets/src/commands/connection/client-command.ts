// CLIENT: reports what the server knows about connections, names them and closes them.
import { formatAddress } from '@syncline/kernel';
import type { ByteList } from '../../byte-list.js';
import { setsLimits } from '../../limits.js';
import type { Client } from '../client.js';
import {
  type Command,
  type CommandContext,
  type CommandFlag,
  commandsIn,
  withHelp,
} from '../command.js';
import { errorFor, errorTexts } from '../errors.js';
import { integerWord, isOption } from '../words.js';
import { clientNameFlaw, DEFAULT_USER } from './authentication.js';

const flags: readonly CommandFlag[] = ['noscript', 'loading', 'stale'];
const define = commandsIn('connection');
const wordsMax = setsLimits.askedWordsMax.value;
/** The connection types of Redis. All of ours are normal. */
const types: ReadonlySet<string> = new Set(['normal', 'slave', 'replica', 'pubsub', 'master']);

const id = define('id', 2, flags, {
  summary: 'Returns the id of this connection.',
  run: ({ client, reply }) => reply.integer(client.id),
});

const getname = define('getname', 2, flags, {
  summary: 'Returns the name of this connection.',
  run({ client, reply }) {
    if (client.name === '') reply.nullBulk();
    else reply.bulkText(client.name);
  },
});

const setname = define('setname', 3, flags, {
  syntax: 'name',
  summary: 'Names this connection.',
  difference: 'At most 1,024 bytes.',
  run({ args, client, reply }) {
    const name = args.text(2);
    const flaw = clientNameFlaw(name);
    if (flaw !== undefined) return reply.error(flaw);
    client.name = name;
    reply.simple('OK');
  },
});

const setinfo = define('setinfo', 4, flags, {
  syntax: 'LIB-NAME name | LIB-VER version',
  summary: 'Sets the name or the version of the client library.',
  difference: 'From Redis 7.2. At most 1,024 bytes.',
  run({ args, client, reply }) {
    const isName = isOption(args, 2, 'lib-name');
    const option = args.text(2);
    const value = args.text(3);
    if (!isName && !isOption(args, 2, 'lib-ver')) return reply.error(errorFor.option(option));
    const flaw = clientNameFlaw(value, errorFor.clientInfo(option));
    if (flaw !== undefined) return reply.error(flaw);
    if (isName) client.libraryName = value;
    else client.libraryVersion = value;
    reply.simple('OK');
  },
});

/** OFF and SKIP are not answered themselves; the session drops the replies. */
const replyMode = define('reply', 3, flags, {
  syntax: 'ON|OFF|SKIP',
  summary: 'Turns the replies to this connection on or off, or skips the next one.',
  run({ args, client, reply }) {
    if (isOption(args, 2, 'on')) {
      client.replies = 'on';
      reply.simple('OK');
    } else if (isOption(args, 2, 'off')) client.replies = 'off';
    else if (!isOption(args, 2, 'skip')) reply.error(errorTexts.syntax);
    else if (client.replies !== 'off') client.replies = 'skip-next';
  },
});

const switchRun = ({ args, reply }: CommandContext) => {
  const isSwitch = isOption(args, 2, 'on') || isOption(args, 2, 'off');
  if (isSwitch) reply.simple('OK');
  else reply.error(errorTexts.syntax);
};

const noEvict = define('no-evict', 3, ['admin', ...flags], {
  syntax: 'ON|OFF',
  summary: 'Has no effect: connections are not evicted.',
  difference: 'Accepted without effect.',
  run: switchRun,
});

const noTouch = define('no-touch', 3, flags, {
  syntax: 'ON|OFF',
  summary: 'Has no effect: the last use of keys is not recorded.',
  difference: 'From Redis 7.2. Accepted without effect.',
  run: switchRun,
});

const info = define('info', 2, flags, {
  summary: 'Returns information about this connection.',
  difference: 'Buffers and file descriptors are not included.',
  run: ({ client, facts, reply }) => reply.verbatim(clientLine(client, facts.clock.monotonicMs())),
});

const list = define('list', -2, ['admin', ...flags], {
  wordsMax,
  syntax: '[TYPE NORMAL|MASTER|REPLICA|PUBSUB] [ID id ...]',
  summary: 'Returns information about all connections.',
  difference: 'Buffers and file descriptors are not included.',
  run(context) {
    const clients = listedClients(context);
    if (typeof clients === 'string') return context.reply.error(clients);
    const nowMs = context.facts.clock.monotonicMs();
    context.reply.verbatim(clients.map((client) => clientLine(client, nowMs)).join(''));
  },
});

/** A text is the error to answer with. */
function listedClients({ args, facts }: CommandContext): readonly Client[] | string {
  if (args.length === 2) return [...facts.clients.values()];
  if (args.length === 4 && isOption(args, 2, 'type')) {
    const type = args.text(3).toLowerCase();
    if (!types.has(type)) return errorFor.clientType(args.text(3));
    return type === 'normal' ? [...facts.clients.values()] : [];
  }
  if (args.length < 4 || !isOption(args, 2, 'id')) return errorTexts.syntax;
  const chosen: Client[] = [];
  for (let index = 3; index < args.length; index += 1) {
    const clientId = integerWord(args, index);
    if (clientId === undefined) return errorTexts.clientIdInvalid;
    const client = facts.clients.get(clientId);
    if (client !== undefined) chosen.push(client);
  }
  return chosen;
}

/** `nowMs` is monotonic. Ends with a line feed. One template, as there may be ten thousand lines. */
function clientLine(client: Client, nowMs: number): string {
  const age = secondsBetween(client.connectedAtMs, nowMs);
  const idle = secondsBetween(client.lastActiveMs, nowMs);
  const multi = client.queued?.length ?? -1;
  const command = client.lastCommand === '' ? 'NULL' : client.lastCommand;
  return (
    `id=${client.id} addr=${formatAddress(client.address)} name=${client.name} age=${age} idle=${idle} ` +
    `flags=${flagsOf(client)} db=0 sub=0 psub=0 ssub=0 multi=${multi} watch=${client.watchedKeys} ` +
    `cmd=${command} user=${DEFAULT_USER} redir=-1 resp=${client.protocol} ` +
    `lib-name=${client.libraryName} lib-ver=${client.libraryVersion}\n`
  );
}

/** x: in a transaction; d: a watched key has changed; N: neither. */
function flagsOf({ queued, isTouched }: Client): string {
  const letters = `${queued === undefined ? '' : 'x'}${isTouched ? 'd' : ''}`;
  return letters === '' ? 'N' : letters;
}

function secondsBetween(fromMs: number, toMs: number): number {
  return Math.max(0, Math.floor((toMs - fromMs) / 1_000));
}

const kill = define('kill', -3, ['admin', ...flags], {
  wordsMax,
  syntax:
    'address | [ID id] [TYPE type] [USER user] [ADDR address] [LADDR address] [SKIPME YES|NO]',
  summary: 'Closes connections.',
  difference: 'LADDR matches no connection.',
  run(context) {
    if (context.args.length === 3) killByAddress(context);
    else killByFilter(context);
  },
});

function killByAddress({ args, client, facts, reply }: CommandContext): void {
  const address = args.text(2);
  for (const other of facts.clients.values()) {
    if (formatAddress(other.address) !== address) continue;
    reply.simple('OK');
    close(other, client);
    return;
  }
  reply.error(errorTexts.noSuchClient);
}

function killByFilter({ args, client, facts, reply }: CommandContext): void {
  const filters = readKillFilters(args, client);
  if (typeof filters === 'string') {
    reply.error(filters);
    return;
  }
  const chosen = [...facts.clients.values()].filter((other) => filters.every((is) => is(other)));
  reply.integer(chosen.length);
  for (const other of chosen) close(other, client);
}

/** A client that kills itself still gets its reply. */
function close(other: Client, self: Client): void {
  if (other === self) self.endAfterReply();
  else other.cut();
}

type KillFilter = (other: Client) => boolean;
const matchesNone: KillFilter = () => false;

/** All of them must match. A text is the error to answer with. */
function readKillFilters(args: ByteList, self: Client): readonly KillFilter[] | string {
  const filters: KillFilter[] = [];
  let isSelfSkipped = true;
  for (let index = 2; index < args.length; index += 2) {
    const value = index + 1;
    if (value === args.length) return errorTexts.syntax;
    const text = args.text(value);
    if (isOption(args, index, 'id')) {
      const clientId = integerWord(args, value) ?? 0;
      if (clientId < 1) return errorTexts.clientIdNotPositive;
      filters.push((other) => other.id === clientId);
    } else if (isOption(args, index, 'type')) {
      const type = text.toLowerCase();
      if (!types.has(type)) return errorFor.clientType(text);
      if (type !== 'normal') filters.push(matchesNone);
    } else if (isOption(args, index, 'addr')) {
      filters.push((other) => formatAddress(other.address) === text);
    } else if (isOption(args, index, 'laddr')) {
      filters.push(matchesNone);
    } else if (isOption(args, index, 'user')) {
      if (text !== DEFAULT_USER) return errorFor.user(text);
    } else {
      isSelfSkipped = isOption(args, value, 'yes');
      const isSkipMe = isOption(args, index, 'skipme');
      if (!isSkipMe || (!isSelfSkipped && !isOption(args, value, 'no'))) return errorTexts.syntax;
    }
  }
  return isSelfSkipped ? [...filters, (other) => other !== self] : filters;
}

const subcommands: readonly Command[] = [
  getname,
  id,
  info,
  kill,
  list,
  noEvict,
  noTouch,
  replyMode,
  setinfo,
  setname,
];

export const clientCommand = define('client', -2, [], {
  summary: 'Returns information about connections, and names or closes them.',
  difference: 'Other subcommands (TRACKING, PAUSE, UNBLOCK, …) are not supported.',
  subcommands: withHelp(define, 'client', subcommands),
  run: ({ reply }) => reply.error(errorFor.wrongArguments('client')),
});
