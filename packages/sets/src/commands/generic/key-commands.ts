// What can be asked about keys: EXISTS, TOUCH, TYPE, DBSIZE, RANDOMKEY, and the commands on expiry and on how a value
// is stored, which have a fixed answer because sets do not expire and have one encoding.
import type { Reply } from '../../resp/reply-writer.js';
import { type Command, commandsIn, keyAtFirst, keysToLast, withHelp } from '../command.js';
import { errorFor, errorTexts } from '../errors.js';
import { pauseUnlessGone } from '../long-work.js';

const define = commandsIn('generic');
const NO_EXPIRY = -1;
const NO_SET = -2;

/** EXISTS and TOUCH: a key that is named twice counts twice. The last use of a set is not recorded. */
function countCommand(name: string, summary: string): Command {
  return define(name, -2, ['readonly', 'fast'], {
    syntax: 'key [key ...]',
    summary,
    difference:
      'More than 16,384 keys are looked up in several turns; other clients may write in between.',
    keys: keysToLast,
    estimate: ({ args }, load) => load.reads(args.length - 1),
    run({ args, keyspace, reply }) {
      let found = 0;
      for (let key = 1; key < args.length; key += 1)
        if (keyspace.cardinality(args, key) > 0) found += 1;
      reply.integer(found);
    },
    async runLong({ args, keyspace, reply }, signal) {
      const pauseOf = pauseUnlessGone(keyspace, signal);
      let found = 0;
      for (let key = 1; key < args.length; key += 1) {
        if (keyspace.cardinality(args, key) > 0) found += 1;
        const pause = pauseOf();
        if (pause !== undefined) await pause;
      }
      reply.integer(found);
    },
  });
}

const dbsize = define('dbsize', 1, ['readonly', 'fast'], {
  summary: 'Returns the number of sets.',
  run: ({ keyspace, reply }) => reply.integer(keyspace.setsCount()),
});

const randomkey = define('randomkey', 1, ['readonly'], {
  summary: 'Returns the name of a random set.',
  run({ keyspace, reply }) {
    const isFound = keyspace.randomName((buffer, start, end) => reply.bulk(buffer, start, end));
    if (!isFound) reply.nullBulk();
  },
});

function expiryCommand(name: string): Command {
  return define(name, 2, ['readonly', 'fast'], {
    syntax: 'key',
    summary: 'Returns -1, as sets do not expire, or -2 if there is no such set.',
    keys: keyAtFirst,
    run: ({ args, keyspace, reply }) =>
      reply.integer(keyspace.cardinality(args, 1) > 0 ? NO_EXPIRY : NO_SET),
  });
}

const type = define('type', 2, ['readonly', 'fast'], {
  syntax: 'key',
  summary: 'Returns `set`, or `none` if there is no such set.',
  keys: keyAtFirst,
  run: ({ args, keyspace, reply }) =>
    reply.simple(keyspace.cardinality(args, 1) > 0 ? 'set' : 'none'),
});

const persist = define('persist', 2, ['write', 'fast'], {
  syntax: 'key',
  summary: 'Has no effect and returns 0: sets do not expire.',
  keys: keyAtFirst,
  run: ({ reply }) => reply.integer(0),
});

/** A subcommand of OBJECT; null if there is no such set. */
function aboutObject(
  name: string,
  texts: Pick<Command, 'summary' | 'difference'>,
  answer: (reply: Reply) => void,
): Command {
  return define(name, 3, ['readonly'], {
    syntax: 'key',
    ...texts,
    keys: { first: 2, last: 2, step: 1 },
    run({ args, keyspace, reply }) {
      if (keyspace.cardinality(args, 2) === 0) reply.nullBulk();
      else answer(reply);
    },
  });
}

const encoding = { summary: 'Returns the encoding of a set.', difference: 'Always `hashtable`.' };
const freq = { summary: 'Returns an error, as access frequency is not tracked.' };
const idletime = { summary: 'Returns the time since the last use.', difference: 'Always 0.' };
const refcount = { summary: 'Returns the reference count of a set, which is 1.' };

const object = define('object', -2, [], {
  summary: 'Returns how a set is stored.',
  subcommands: withHelp(define, 'object', [
    aboutObject('encoding', encoding, (reply) => reply.bulkText('hashtable')),
    aboutObject('freq', freq, (reply) => reply.error(errorTexts.lfuOff)),
    aboutObject('idletime', idletime, (reply) => reply.integer(0)),
    aboutObject('refcount', refcount, (reply) => reply.integer(1)),
  ]),
  run: ({ args, reply }) => reply.error(errorFor.unknownSubcommand('object', args.text(1))),
});

export const keyCommands: readonly Command[] = [
  ...['expiretime', 'pexpiretime', 'pttl', 'ttl'].map(expiryCommand),
  countCommand('exists', 'Returns the number of keys that exist.'),
  countCommand('touch', 'Returns the number of keys that exist.'),
  dbsize,
  object,
  persist,
  randomkey,
  type,
];
