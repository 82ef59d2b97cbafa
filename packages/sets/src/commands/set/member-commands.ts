// Commands on named members of a set (SADD, SREM, SMOVE, SISMEMBER, SMISMEMBER), and on all of them (SCARD, SMEMBERS).
import { SynclineError } from '@syncline/kernel';
import type { ByteList } from '../../byte-list.js';
import { type Command, keyAtFirst } from '../command.js';
import {
  changeInParts,
  exceedsOperation,
  inOneOperation,
  pauseUnlessGone,
  withGate,
  writeBatches,
} from '../long-work.js';
import { isMemberTooLong, refusesKeys, refusesMembers } from '../words.js';

/** Each member gets a new dot, also one that is present: it must survive a remove that has not seen this add. */
const sadd: Command = {
  name: 'sadd',
  arity: -3,
  flags: ['write', 'denyoom', 'fast'],
  group: 'set',
  syntax: 'key member [member ...]',
  summary: 'Adds members to a set.',
  difference:
    'More than 65,536 members or 3 MiB are added by several operations and may be seen half done.',
  keys: keyAtFirst,
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1) || refusesMembers(args, reply, 2)) return;
    if (exceedsOperation(args, 2)) throw tooManyMembers(args);
    reply.integer(keyspace.add(args, 1, 2));
  },
  async runLong(context, signal) {
    const { keyspace, reply } = context;
    reply.integer(await withGate(keyspace, signal, (hold) => changeInParts(context, 'add', hold)));
  },
};

const srem: Command = {
  name: 'srem',
  arity: -3,
  flags: ['write', 'fast'],
  group: 'set',
  syntax: 'key member [member ...]',
  summary: 'Removes members from a set.',
  difference:
    'More than 65,536 members or 3 MiB are removed by several operations and may be seen half done.',
  keys: keyAtFirst,
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1) || refusesMembers(args, reply, 2)) return;
    if (exceedsOperation(args, 2)) throw tooManyMembers(args);
    reply.integer(keyspace.remove(args, 1, 2));
  },
  async runLong(context, signal) {
    const { keyspace, reply } = context;
    reply.integer(
      await withGate(keyspace, signal, (hold) => changeInParts(context, 'remove', hold)),
    );
  },
};

/** `runLong` follows; inside a transaction all of it is refused. */
function tooManyMembers({ length }: ByteList): SynclineError {
  return new SynclineError('limit-exceeded', `${length - 2} members do not fit in one operation`);
}

const SOURCE = 1;
const DESTINATION = 2;
const MEMBER = 3;

/** One operation, so that no node ever shows the member in both sets or in neither. */
const smove: Command = {
  name: 'smove',
  arity: 4,
  flags: ['write', 'fast'],
  group: 'set',
  syntax: 'source destination member',
  summary: 'Moves a member from one set to another.',
  keys: { first: 1, last: 2, step: 1 },
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, SOURCE, MEMBER) || refusesMembers(args, reply, MEMBER)) return;
    const isPresent = keyspace.has(args, SOURCE, MEMBER);
    const isSame = Buffer.compare(args.bytes(SOURCE), args.bytes(DESTINATION)) === 0;
    if (isPresent && !isSame) {
      inOneOperation(keyspace, () => {
        keyspace.remove(args, SOURCE, MEMBER);
        keyspace.add(args, DESTINATION, MEMBER);
      });
    }
    reply.integer(isPresent ? 1 : 0);
  },
};

const scard: Command = {
  name: 'scard',
  arity: 2,
  flags: ['readonly', 'fast'],
  group: 'set',
  syntax: 'key',
  summary: 'Returns the number of members in a set.',
  keys: keyAtFirst,
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1)) return;
    reply.integer(keyspace.cardinality(args, 1));
  },
};

const sismember: Command = {
  name: 'sismember',
  arity: 3,
  flags: ['readonly', 'fast'],
  group: 'set',
  syntax: 'key member',
  summary: 'Determines whether a member belongs to a set.',
  keys: keyAtFirst,
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1)) return;
    reply.integer(!isMemberTooLong(args, 2) && keyspace.has(args, 1, 2) ? 1 : 0);
  },
};

const smismember: Command = {
  name: 'smismember',
  arity: -3,
  flags: ['readonly', 'fast'],
  group: 'set',
  syntax: 'key member [member ...]',
  summary: 'Determines whether multiple members belong to a set.',
  difference:
    'More than 16,384 members are looked up in several turns; others may write meanwhile.',
  keys: keyAtFirst,
  estimate: ({ args }, load) => load.reads(args.length - 2),
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1)) return;
    reply.array(args.length - 2);
    for (let member = 2; member < args.length; member += 1)
      reply.integer(!isMemberTooLong(args, member) && keyspace.has(args, 1, member) ? 1 : 0);
  },
  async runLong({ args, keyspace, reply }, signal) {
    if (refusesKeys(args, reply, 1)) return;
    const pauseOf = pauseUnlessGone(keyspace, signal);
    reply.array(args.length - 2);
    for (let member = 2; member < args.length; member += 1) {
      reply.integer(!isMemberTooLong(args, member) && keyspace.has(args, 1, member) ? 1 : 0);
      const pause = reply.room() ?? pauseOf();
      if (pause !== undefined) await pause;
    }
  },
};

const smembers: Command = {
  name: 'smembers',
  arity: 2,
  flags: ['readonly'],
  group: 'set',
  syntax: 'key',
  summary: 'Returns all members of a set.',
  keys: keyAtFirst,
  estimate: ({ args }, load) => load.readsSet(args, 1),
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, 1)) return;
    reply.set(keyspace.cardinality(args, 1));
    keyspace.forEach(args, 1, (buffer, start, end) => reply.bulk(buffer, start, end));
  },
  async runLong(context, signal) {
    const { args, keyspace, reply } = context;
    if (refusesKeys(args, reply, 1)) return;
    const set = args.bytes(1);
    using pin = keyspace.openPin([set]);
    reply.set(pin.cardinality(set));
    await writeBatches(context, pin.members(set), signal);
  },
};

export const memberCommands: readonly Command[] = [
  sadd,
  scard,
  sismember,
  smembers,
  smismember,
  smove,
  srem,
];
