// TTL, PTTL, EXPIRETIME and PEXPIRETIME: sets do not expire, so all say -1, or -2 where there is no set.
import type { Command } from '../command.js';
import { refusesKeys } from '../name-limits.js';

const NO_EXPIRY = -1;
const NO_SET = -2;

export const ttl = expiryCommand('ttl');
export const pttl = expiryCommand('pttl');
export const expiretime = expiryCommand('expiretime');
export const pexpiretime = expiryCommand('pexpiretime');

function expiryCommand(name: string): Command {
  return {
    name,
    arity: 2,
    flags: ['readonly', 'fast'],
    group: 'generic',
    syntax: 'key',
    summary: 'Tells that a set does not expire.',
    keys: { first: 1, last: 1, step: 1 },
    run({ args, keyspace, reply }) {
      if (refusesKeys(args, reply, 1)) return;
      reply.integer(keyspace.cardinality(args, 1) > 0 ? NO_EXPIRY : NO_SET);
    },
  };
}
