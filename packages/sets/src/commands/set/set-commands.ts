// All commands on sets.
import type { Command } from '../command.js';
import { sadd } from './sadd.js';
import { scard } from './scard.js';
import { sdiff } from './sdiff.js';
import { sdiffstore } from './sdiffstore.js';
import { sinter } from './sinter.js';
import { sintercard } from './sintercard.js';
import { sinterstore } from './sinterstore.js';
import { sismember } from './sismember.js';
import { smembers } from './smembers.js';
import { smismember } from './smismember.js';
import { smove } from './smove.js';
import { spop } from './spop.js';
import { srandmember } from './srandmember.js';
import { srem } from './srem.js';
import { sscan } from './sscan.js';
import { sunion } from './sunion.js';
import { sunionstore } from './sunionstore.js';

export const setCommands: readonly Command[] = [
  sadd,
  scard,
  sdiff,
  sdiffstore,
  sinter,
  sintercard,
  sinterstore,
  sismember,
  smembers,
  smismember,
  smove,
  spop,
  srandmember,
  srem,
  sscan,
  sunion,
  sunionstore,
];
