// Whether an element occurs twice in an operation. If it were both added and removed, whether it is in its set would
// depend on the reader.
//
// There are two methods, the second for members that were chosen to collide: clients choose members, and the hash
// used here has no secret. The second is slower, and safe because the engine seeds its string hash in each process.
import type { ByteList } from '../byte-list.js';

const probesPerElement = 8; // honest ones take less than 2
const hashStart = 0x811c9dc5;
const hashFactor = 0x9e3779b1;

export interface ElementNames {
  readonly sets: ByteList;
  readonly members: ByteList;
  setOf(member: number): number;
}

/** The index of an element that occurred before; -1 if there is none. */
export function repeatedElement(names: ElementNames): number {
  if (names.members.length === 1) return -1;
  return repeatedByHash(names) ?? repeatedByText(names);
}

/** Undefined when too many collide. */
function repeatedByHash(names: ElementNames): number | undefined {
  const { sets, members } = names;
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * members.length))); // element + 1; 0 is free
  const mask = slots.length - 1;
  let probesLeft = probesPerElement * members.length;
  let set = -1;
  let setHash = 0;
  for (let element = 0; element < members.length; element += 1) {
    if (names.setOf(element) !== set) {
      set = names.setOf(element);
      setHash = hashOf(sets, set, hashStart);
    }
    let slot = hashOf(members, element, setHash) & mask;
    for (let other = slots[slot] ?? 0; other !== 0; other = slots[slot] ?? 0) {
      if (isSameElement(names, other - 1, element)) return element;
      probesLeft -= 1;
      if (probesLeft < 0) return undefined;
      slot = (slot + 1) & mask;
    }
    slots[slot] = element + 1;
  }
  return -1;
}

function repeatedByText(names: ElementNames): number {
  const bySet = new Map<string, Set<string>>();
  for (let element = 0; element < names.members.length; element += 1) {
    const set = names.sets.text(names.setOf(element));
    const seen = bySet.get(set) ?? new Set();
    bySet.set(set, seen);
    const member = names.members.text(element);
    if (seen.has(member)) return element;
    seen.add(member);
  }
  return -1;
}

function isSameElement(names: ElementNames, left: number, right: number): boolean {
  return (
    isSame(names.members, left, right) && isSame(names.sets, names.setOf(left), names.setOf(right))
  );
}

function isSame(list: ByteList, left: number, right: number): boolean {
  const size = list.sizeOf(left);
  if (size !== list.sizeOf(right)) return false;
  const leftStart = list.start(left);
  const rightStart = list.start(right);
  if (leftStart === rightStart) return true;
  for (let index = 0; index < size; index += 1) {
    if (list.buffer[leftStart + index] !== list.buffer[rightStart + index]) return false;
  }
  return true;
}

/** Word by word, then the last bytes. Only the high bits of a product depend on all others, so they are folded down. */
function hashOf(list: ByteList, index: number, seed: number): number {
  const { view } = list;
  const end = list.end(index);
  let hash = seed;
  let at = list.start(index);
  for (; at + 4 <= end; at += 4) hash = mixed(hash ^ view.getInt32(at));
  for (; at < end; at += 1) hash = mixed(hash ^ view.getUint8(at));
  return hash;
}

function mixed(word: number): number {
  const product = Math.imul(word, hashFactor);
  return product ^ (product >>> 15);
}
