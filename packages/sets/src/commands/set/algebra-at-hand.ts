// Union, intersection and difference of sets that are at hand, within a turn. The work grows with the
// members that the sets have together, however many sets there are.
import type { ByteList } from '../../byte-list.js';
import type { Keyspace } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import { ByteCollector } from '../byte-collector.js';
import type { SetRule } from './ordered-merge.js';

/** The words from `from` up to `to` name the sets. */
export interface NamedSets {
  readonly args: ByteList;
  readonly from: number;
  readonly to: number;
}

export interface AlgebraResult {
  /** The names stand first, as many as were given. */
  readonly list: ByteList;
  /** From here on stand the members. */
  readonly membersFrom: number;
}

/** Undefined: the result is larger than a reply may be. */
export function resultAtHand(
  keyspace: Keyspace,
  rule: SetRule,
  { args, from, to }: NamedSets,
): AlgebraResult | undefined {
  const words = new ByteCollector();
  for (let key = from; key < to; key += 1) words.push(args.buffer, args.start(key), args.end(key));
  const membersFrom = to - from;
  const bytesMax = words.bytes + setsLimits.resultBytesMax.value;
  const keep = (set: number, isKept: (member: number) => boolean) => {
    keyspace.forEach(words.list, set, (buffer, start, end) => {
      if (words.bytes > bytesMax) return;
      if (!isKept(words.push(buffer, start, end))) words.drop();
    });
  };
  const { list } = words;
  switch (rule) {
    case 'union': {
      const seen = new Set<string>();
      for (let set = 0; set < membersFrom; set += 1)
        keep(set, (member) => seen.size !== seen.add(list.text(member)).size);
      break;
    }
    case 'difference': {
      const others = new Set<string>();
      for (let set = 1; set < membersFrom; set += 1)
        keyspace.forEach(list, set, (...bytes) => void others.add(textOf(...bytes)));
      keep(0, (member) => !others.has(list.text(member)));
      break;
    }
    case 'intersection':
      keep(smallestOf(keyspace, list, membersFrom), (member) => {
        for (let set = 0; set < membersFrom; set += 1)
          if (!keyspace.has(list, set, member)) return false;
        return true;
      });
  }
  return words.bytes > bytesMax ? undefined : { list, membersFrom };
}

function textOf(buffer: Uint8Array, start: number, end: number): string {
  return Buffer.from(buffer.buffer, buffer.byteOffset + start, end - start).toString('latin1');
}

function smallestOf(keyspace: Keyspace, names: ByteList, sets: number): number {
  let smallest = 0;
  for (let set = 1; set < sets; set += 1) {
    if (keyspace.cardinality(names, set) < keyspace.cardinality(names, smallest)) smallest = set;
  }
  return smallest;
}
