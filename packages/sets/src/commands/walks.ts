// What commands walk. Names that are too long are left to `run`, which refuses them, so that nobody looks
// for them in the storage.
import type { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import type { PartWalk, Walk } from './command.js';

const ENTRY_NAMES = 4;

export const walksNothing: Walk = { kind: 'none' };
export const walksLong: Walk = { kind: 'long' };
export const walksKeyspace: Walk = { kind: 'keyspace', removes: false };
export const clearsKeyspace: Walk = { kind: 'keyspace', removes: true };

/** The sets that the words from `from` up to `to` name. */
export function walksSets(args: ByteList, from: number, to: number): Walk {
  return walkOf(args, { kind: 'sets', from, to, removes: false });
}

/** The same for a command that removes all members of them. */
export function clearsSets(args: ByteList, from: number, to: number): Walk {
  return walkOf(args, { kind: 'sets', from, to, removes: true });
}

/** Some members of the set that a word names. */
export function walksPart(args: ByteList, part: Omit<PartWalk, 'kind'>): Walk {
  return isTooLong(args, part.key) ? walksNothing : { kind: 'part', ...part };
}

/** The words from `from` on are asked for one by one. */
export function walksNames(args: ByteList, from: number): Walk {
  return { kind: 'names', count: args.length - from };
}

/** So many commands are told about, each of which costs as much as a few names. */
export function walksEntries(count: number): Walk {
  return { kind: 'names', count: count * ENTRY_NAMES };
}

function walkOf(args: ByteList, walk: Extract<Walk, { kind: 'sets' }>): Walk {
  for (let key = walk.from; key < walk.to; key += 1) if (isTooLong(args, key)) return walksNothing;
  return walk;
}

function isTooLong(args: ByteList, key: number): boolean {
  return args.sizeOf(key) > setsLimits.keyBytesMax.value;
}
