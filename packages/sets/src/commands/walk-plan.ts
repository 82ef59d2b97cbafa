// Whether what a command walks fits into a turn: now, after its sets were brought into memory, or not at all.
//
// The members of all sets count together, since the union of a hundred small sets holds the event loop as
// long as one large set.
import type { ByteList } from '../byte-list.js';
import type { Keyspace } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import type { Walk } from './command.js';

const turnMembersMax = setsLimits.turnMembersMax.value;

export function planWalk(walk: Walk, args: ByteList, keyspace: Keyspace): 'now' | 'bring' | 'long' {
  switch (walk.kind) {
    case 'none':
      return 'now';
    case 'keyspace':
    case 'long':
      return 'long';
    case 'whole':
      return walk.keys.every((key) => keyspace.isWhole(args, key)) ? 'now' : 'bring';
    case 'sets':
      return planSets(walk.keys, args, keyspace);
  }
}

/** Copies of the names, since the arguments may change while the sets come. */
export function walkedKeys(walk: Walk, args: ByteList): readonly Uint8Array[] {
  if (walk.kind !== 'sets' && walk.kind !== 'whole') return [];
  return walk.keys.map((key) => args.bytes(key).slice());
}

function planSets(
  keys: readonly number[],
  args: ByteList,
  keyspace: Keyspace,
): 'now' | 'bring' | 'long' {
  let members = 0;
  let isMissing = false;
  for (const key of keys) {
    members += keyspace.cardinality(args, key);
    if (members > turnMembersMax) return 'long';
    if (!keyspace.isWhole(args, key)) isMissing = true;
    else if (!keyspace.isAtHand(args, key, turnMembersMax)) return 'long';
  }
  return isMissing ? 'bring' : 'now';
}
