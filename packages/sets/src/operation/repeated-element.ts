// Whether an element comes twice in an operation. One that is added and removed at once would be in its set
// or not, depending on who reads.
import type { ByteList } from '../byte-list.js';

const pairsMax = 8; // up to so many elements comparing each with each is faster than hashing

export interface ElementNames {
  readonly sets: ByteList;
  readonly members: ByteList;
  setOf(member: number): number;
}

/** The index of an element that came before; -1 when there is none. */
export function repeatedElement(names: ElementNames): number {
  return names.members.length <= pairsMax ? repeatedAmongFew(names) : repeatedAmongMany(names);
}

function repeatedAmongFew(names: ElementNames): number {
  const { sets, members } = names;
  for (let later = 1; later < members.length; later += 1) {
    for (let earlier = 0; earlier < later; earlier += 1) {
      const isSame =
        areEqual(members, earlier, later) &&
        areEqual(sets, names.setOf(earlier), names.setOf(later));
      if (isSame) return later;
    }
  }
  return -1;
}

/** Texts as keys: the engine seeds their hash, so that nobody can choose members that collide. */
function repeatedAmongMany(names: ElementNames): number {
  const bySet = new Map<string, Set<string>>();
  let set = -1;
  let seen = new Set<string>();
  for (let member = 0; member < names.members.length; member += 1) {
    if (names.setOf(member) !== set) {
      set = names.setOf(member);
      const name = names.sets.text(set);
      seen = bySet.get(name) ?? new Set();
      bySet.set(name, seen);
    }
    const countBefore = seen.size;
    if (seen.add(names.members.text(member)).size === countBefore) return member;
  }
  return -1;
}

function areEqual(list: ByteList, left: number, right: number): boolean {
  if (left === right) return true;
  const size = list.sizeOf(left);
  if (size !== list.sizeOf(right)) return false;
  const leftStart = list.start(left);
  const rightStart = list.start(right);
  for (let index = 0; index < size; index += 1) {
    if (list.buffer[leftStart + index] !== list.buffer[rightStart + index]) return false;
  }
  return true;
}
