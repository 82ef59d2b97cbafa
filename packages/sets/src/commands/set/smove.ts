// SMOVE source destination member: 1 if the member was there. Taking and giving are one operation, so that
// no node ever shows the member in both sets or in none.
import type { Command } from '../command.js';
import { refusesKeys, refusesMembers } from '../name-limits.js';
import { inOneOperation } from '../one-operation.js';

const SOURCE = 1;
const DESTINATION = 2;
const MEMBER = 3;

export const smove: Command = {
  name: 'smove',
  arity: 4,
  flags: ['write', 'fast'],
  group: 'set',
  syntax: 'source destination member',
  summary: 'Moves a member from one set to another.',
  keys: { first: 1, last: 2, step: 1 },
  run({ args, keyspace, reply }) {
    if (refusesKeys(args, reply, SOURCE, MEMBER) || refusesMembers(args, reply, MEMBER)) return;
    const isThere = keyspace.has(args, SOURCE, MEMBER);
    const isSame = Buffer.compare(args.bytes(SOURCE), args.bytes(DESTINATION)) === 0;
    if (isThere && !isSame) {
      inOneOperation(keyspace, () => {
        keyspace.remove(args, SOURCE, MEMBER);
        keyspace.add(args, DESTINATION, MEMBER);
      });
    }
    reply.integer(isThere ? 1 : 0);
  },
};
