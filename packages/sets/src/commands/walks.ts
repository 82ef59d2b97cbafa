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
  return walk(args, 'sets', { from, to });
}

/** The one set that a word names, which must be in memory. */
export function walksWhole(args: ByteList, key: number): Walk {
  return walk(args, 'whole', { from: key, to: key + 1 });
}

function walk(
  args: ByteList,
  kind: 'sets' | 'whole',
  { from, to }: { readonly from: number; readonly to: number },
): Walk {
  if (to - from > setsLimits.turnReadsMax.value) return walksLong;
  const keys: number[] = [];
  for (let key = from; key < to; key += 1) {
    if (args.sizeOf(key) > setsLimits.keyBytesMax.value) return walksNothing;
    keys.push(key);
  }
  return { kind, keys };
}
