// What can be asked about keys: EXISTS, TOUCH, TYPE, DBSIZE, RANDOMKEY, and the commands on expiry and on how a value
// is stored, which have a fixed answer because sets do not expire and have one encoding.
import {
  type Command,
  type CommandContext,
  createHelp,
  keyAtFirst,
  keysToLast,
} from '../command.js';
import { errorTexts, unknownSubcommandText } from '../errors.js';
import { pauseUnlessGone } from '../long-work.js';
import { refusesKeys } from '../words.js';

/** EXISTS and TOUCH: a key that is named twice counts twice. The last use of a set is not recorded. */
function countCommand(name: string, summary: string): Command {
  return {
    name,
    arity: -2,
    flags: ['readonly', 'fast'],
    group: 'generic',
    syntax: 'key [key ...]',
    summary,
    difference: 'More than 16,384 keys are looked up in several turns; others may write meanwhile.',
    keys: keysToLast,
    estimate: ({ args }, load) => load.reads(args.length - 1),
    run({ args, keyspace, reply }) {
      if (refusesKeys(args, reply, 1, args.length)) return;
      let found = 0;
      for (let key = 1; key < args.length; key += 1)
        if (keyspace.cardinality(args, key) > 0) found += 1;
      reply.integer(found);
    },
    async runLong({ args, keyspace, reply }, signal) {
      if (refusesKeys(args, reply, 1, args.length)) return;
      const pauseOf = pauseUnlessGone(keyspace, signal);
      let found = 0;
      for (let key = 1; key < args.length; key += 1) {
        if (keyspace.cardinality(args, key) > 0) found += 1;
        const pause = pauseOf();
        if (pause !== undefined) await pause;
      }
      reply.integer(found);
    },
  };
}

const dbsize: Command = {
  name: 'dbsize',
  arity: 1,
  flags: ['readonly', 'fast'],
  group: 'generic',
  summary: 'Returns the number of sets.',
  run: ({ keyspace, reply }) => reply.integer(keyspace.setsCount()),
};

const randomkey: Command = {
  name: 'randomkey',
  arity: 1,
  flags: ['readonly'],
  group: 'generic',
  summary: 'Returns the name of a random set.',
  run({ keyspace, reply }) {
    const isFound = keyspace.randomName((buffer, start, end) => reply.bulk(buffer, start, end));
    if (!isFound) reply.nullBulk();
  },
};

const NO_EXPIRY = -1;
const NO_SET = -2;

function aboutKey(name: string, rest: Pick<Command, 'flags' | 'summary'>, answer: Answer): Command {
  return {
    name,
    arity: 2,
    group: 'generic',
    syntax: 'key',
    ...rest,
    keys: keyAtFirst,
    run(context) {
      const { args, keyspace, reply } = context;
      if (refusesKeys(args, reply, 1)) return;
      answer(context, keyspace.cardinality(args, 1) > 0);
    },
  };
}

type Answer = (context: CommandContext, isPresent: boolean) => void;

function expiryCommand(name: string): Command {
  const summary = 'Returns -1, as sets do not expire, or -2 if there is no such set.';
  return aboutKey(name, { flags: ['readonly', 'fast'], summary }, ({ reply }, isPresent) =>
    reply.integer(isPresent ? NO_EXPIRY : NO_SET),
  );
}

const type = aboutKey(
  'type',
  { flags: ['readonly', 'fast'], summary: 'Returns `set`, or `none` if there is no such set.' },
  ({ reply }, isPresent) => reply.simple(isPresent ? 'set' : 'none'),
);

const persist = aboutKey(
  'persist',
  { flags: ['write', 'fast'], summary: 'Has no effect and returns 0: sets do not expire.' },
  ({ reply }) => reply.integer(0),
);

/** A subcommand of OBJECT; null if there is no such set. */
function objectSubcommand(
  name: string,
  words: Pick<Command, 'summary' | 'difference'>,
  answer: (context: CommandContext) => void,
): Command {
  return {
    name,
    arity: 3,
    flags: ['readonly'],
    group: 'generic',
    syntax: 'key',
    ...words,
    keys: { first: 2, last: 2, step: 1 },
    run(context) {
      const { args, keyspace, reply } = context;
      if (refusesKeys(args, reply, 2)) return;
      if (keyspace.cardinality(args, 2) === 0) reply.nullBulk();
      else answer(context);
    },
  };
}

const objectSubcommands: readonly Command[] = [
  objectSubcommand(
    'encoding',
    { summary: 'Returns the encoding of a set.', difference: 'Always `hashtable`.' },
    ({ reply }) => reply.bulkText('hashtable'),
  ),
  objectSubcommand(
    'freq',
    { summary: 'Returns an error, as access frequency is not tracked.' },
    ({ reply }) => reply.error(errorTexts.lfuOff),
  ),
  objectSubcommand(
    'idletime',
    { summary: 'Returns the time since the last use of a set.', difference: 'Always 0.' },
    ({ reply }) => reply.integer(0),
  ),
  objectSubcommand(
    'refcount',
    { summary: 'Returns the reference count of a set, which is 1.' },
    ({ reply }) => reply.integer(1),
  ),
];

const object: Command = {
  name: 'object',
  arity: -2,
  flags: [],
  group: 'generic',
  summary: 'Returns how a set is stored.',
  subcommands: [
    ...objectSubcommands,
    createHelp({ name: 'object', group: 'generic' }, objectSubcommands),
  ],
  run: ({ args, reply }) => reply.error(unknownSubcommandText('object', args.text(1))),
};

export const keyCommands: readonly Command[] = [
  dbsize,
  countCommand('exists', 'Returns the number of keys that exist.'),
  expiryCommand('expiretime'),
  object,
  persist,
  expiryCommand('pexpiretime'),
  expiryCommand('pttl'),
  randomkey,
  countCommand('touch', 'Returns the number of keys that exist.'),
  expiryCommand('ttl'),
  type,
];
