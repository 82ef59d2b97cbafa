// All commands on names of sets.
import type { Command } from '../command.js';
import { dbsize } from './dbsize.js';
import { del } from './del.js';
import { exists } from './exists.js';
import { expiretime, pexpiretime, pttl, ttl } from './expiry-times.js';
import { flushall } from './flushall.js';
import { flushdb } from './flushdb.js';
import { keys } from './keys.js';
import { object } from './object.js';
import { persist } from './persist.js';
import { randomkey } from './randomkey.js';
import { scan } from './scan.js';
import { touch } from './touch.js';
import { type } from './type.js';
import { unlink } from './unlink.js';

export const genericCommands: readonly Command[] = [
  dbsize,
  del,
  exists,
  expiretime,
  flushall,
  flushdb,
  keys,
  object,
  persist,
  pexpiretime,
  pttl,
  randomkey,
  scan,
  touch,
  ttl,
  type,
  unlink,
];
