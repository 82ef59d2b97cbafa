// Commands on named members of a set (SADD, SREM, SMOVE, SISMEMBER, SMISMEMBER), and on all of them (SCARD, SMEMBERS).
import { SynclineError } from '@syncline/kernel';
import type { WriteHold } from '../../keyspace.js';
import { type Command, commandsIn, keyAtFirst } from '../command.js';
import {
  changeInParts,
  exceedsOperation,
  inOneOperation,
  pauseUnlessGone,
  withGate,
  writeBatches,
} from '../long-work.js';
import { isMemberTooLong, refusesMembers } from '../words.js';

const define = commandsIn('set');

/** SADD and SREM. More members than one operation holds are changed in parts. */
function changeCommand(kind: 'add' | 'remove', name: string, flags: Command['flags']): Command {
  const words = kind === 'add' ? ['Adds', 'added', 'to'] : ['Removes', 'removed', 'from'];
  return define(name, -3, flags, {
    syntax: 'key member [member ...]',
    summary: `${words[0]} members ${words[2]} a set.`,
    difference: `More than 65,536 members or 3 MiB are ${words[1]} in several operations; other clients may see an intermediate state.`,
    keys: keyAtFirst,
    run({ args, keyspace, reply }) {
      if (refusesMembers(args, reply, 2)) return;
      if (exceedsOperation(args, 2))
        throw new SynclineError('limit-exceeded', 'the members do not fit in one operation');
      reply.integer(keyspace[kind](args, 1, 2));
    },
    async runLong(context, signal) {
      const { keyspace, reply } = context;
      const change = (hold: WriteHold) => changeInParts(context, 1, kind, hold);
      reply.integer(await withGate(keyspace, signal, change));
    },
  });
}

const SOURCE = 1;
const DESTINATION = 2;
const MEMBER = 3;

/** One operation, so that no node ever shows the member in both sets or in neither. */
const smove = define('smove', 4, ['write', 'fast'], {
  syntax: 'source destination member',
  summary: 'Moves a member from one set to another.',
  keys: { first: 1, last: 2, step: 1 },
  run({ args, keyspace, reply }) {
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
});

const scard = define('scard', 2, ['readonly', 'fast'], {
  syntax: 'key',
  summary: 'Returns the number of members in a set.',
  keys: keyAtFirst,
  run({ args, keyspace, reply }) {
    reply.integer(keyspace.cardinality(args, 1));
  },
});

const sismember = define('sismember', 3, ['readonly', 'fast'], {
  syntax: 'key member',
  summary: 'Determines whether a member belongs to a set.',
  keys: keyAtFirst,
  run({ args, keyspace, reply }) {
    reply.integer(!isMemberTooLong(args, 2) && keyspace.has(args, 1, 2) ? 1 : 0);
  },
});

const smismember = define('smismember', -3, ['readonly', 'fast'], {
  syntax: 'key member [member ...]',
  summary: 'Determines whether multiple members belong to a set.',
  difference:
    'More than 16,384 members are looked up in several turns; other clients may write in between.',
  keys: keyAtFirst,
  estimate: ({ args }, load) => load.reads(args.length - 2),
  run({ args, keyspace, reply }) {
    reply.array(args.length - 2);
    for (let member = 2; member < args.length; member += 1)
      reply.integer(!isMemberTooLong(args, member) && keyspace.has(args, 1, member) ? 1 : 0);
  },
  async runLong({ args, keyspace, reply }, signal) {
    const pauseOf = pauseUnlessGone(keyspace, signal);
    reply.array(args.length - 2);
    for (let member = 2; member < args.length; member += 1) {
      reply.integer(!isMemberTooLong(args, member) && keyspace.has(args, 1, member) ? 1 : 0);
      const pause = reply.room() ?? pauseOf();
      if (pause === undefined) continue;
      await pause;
      keyspace.commit(); // what it reads is in the log
    }
  },
});

const smembers = define('smembers', 2, ['readonly'], {
  syntax: 'key',
  summary: 'Returns all members of a set.',
  keys: keyAtFirst,
  estimate: ({ args }, load) => load.readsSet(args, 1),
  run({ args, keyspace, reply }) {
    reply.set(keyspace.cardinality(args, 1));
    keyspace.forEach(args, 1, (buffer, start, end) => reply.bulk(buffer, start, end));
  },
  async runLong({ args, keyspace, reply }, signal) {
    const set = args.bytes(1);
    using pin = keyspace.openPin([set]);
    reply.set(pin.cardinality(set));
    await writeBatches(reply, pin.members(set), pauseUnlessGone(keyspace, signal));
  },
});

export const memberCommands: readonly Command[] = [
  changeCommand('add', 'sadd', ['write', 'denyoom', 'fast']),
  changeCommand('remove', 'srem', ['write', 'fast']),
  scard,
  sismember,
  smembers,
  smismember,
  smove,
];
