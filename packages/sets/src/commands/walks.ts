// What commands walk. Names that are too long are left to `run`, which refuses them, so that nobody looks
// for them in the storage.
import type { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import type { Walk } from './command.js';

export const walksNothing: Walk = { kind: 'none' };
export const walksLong: Walk = { kind: 'long' };
export const walksKeyspace: Walk = { kind: 'keyspace' };

/** The sets that the words from `from` up to `to` name. */
export function walksSets(args: ByteList, from: number, to: number): Walk {
  if (to - from > setsLimits.turnReadsMax.value) return walksLong;
  const keys: number[] = [];
  for (let key = from; key < to; key += 1) {
    if (isTooLong(args, key)) return walksNothing;
    keys.push(key);
  }
  return { kind: 'sets', keys };
}

/** The one set that a word names, which must be in memory. At most so many `members` are looked at. */
export function walksWhole(args: ByteList, key: number, members: number): Walk {
  return isTooLong(args, key) ? walksNothing : { kind: 'whole', keys: [key], members };
}

function isTooLong(args: ByteList, key: number): boolean {
  return args.sizeOf(key) > setsLimits.keyBytesMax.value;
}
