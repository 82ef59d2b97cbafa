// Whether what a command walks fits into a turn: now, after its sets were brought into memory, or not at all.
//
// The members of all sets count together, since the union of a hundred small sets holds the event loop as
// long as one large set.
import type { ByteList } from '../byte-list.js';
import type { Keyspace } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import type { PartWalk, SetsWalk, Walk } from './command.js';

const turnMembersMax = setsLimits.turnMembersMax.value;
const turnReadsMax = setsLimits.turnReadsMax.value;

export function planWalk(walk: Walk, args: ByteList, keyspace: Keyspace): 'now' | 'bring' | 'long' {
  switch (walk.kind) {
    case 'none':
      return 'now';
    case 'keyspace':
    case 'long':
      return 'long';
    case 'names':
      return walk.count > turnReadsMax ? 'long' : 'now';
    case 'part':
      return planPart(walk, args, keyspace);
    case 'sets':
      return planSets(walk, args, keyspace);
  }
}

/** Copies of the names, since the arguments may change while the sets come. */
export function walkedKeys(walk: Walk, args: ByteList): readonly Uint8Array[] {
  return walkedIndices(walk).map((key) => args.bytes(key).slice());
}

/** Which words name sets that must be in memory. */
export function walkedIndices(walk: Walk): readonly number[] {
  if (walk.kind === 'part') return [walk.key];
  if (walk.kind !== 'sets') return [];
  const { from, to } = walk;
  return Array.from({ length: to - from }, (_, index) => from + index);
}

function planPart(
  { key, members, fits }: PartWalk,
  args: ByteList,
  keyspace: Keyspace,
): 'now' | 'bring' | 'long' {
  if (fits === 'transaction') return 'long';
  if (fits === 'set-at-hand') return planSets({ from: key, to: key + 1 }, args, keyspace);
  if (!keyspace.isWhole(args, key)) return 'bring';
  if (fits === 'any-set') return 'now';
  const meanBytes = keyspace.memberBytes(args, key) / Math.max(1, keyspace.cardinality(args, key));
  return members * meanBytes > setsLimits.turnBytesMax.value ? 'long' : 'now';
}

function planSets(
  { from, to }: Pick<SetsWalk, 'from' | 'to'>,
  args: ByteList,
  keyspace: Keyspace,
): 'now' | 'bring' | 'long' {
  if (to - from > turnReadsMax) return 'long';
  let members = 0;
  let isMissing = false;
  for (let key = from; key < to; key += 1) {
    members += keyspace.cardinality(args, key);
    if (members > turnMembersMax) return 'long';
    if (!keyspace.isWhole(args, key)) isMissing = true;
    else if (!keyspace.isAtHand(args, key, turnMembersMax)) return 'long';
  }
  return isMissing ? 'bring' : 'now';
}
