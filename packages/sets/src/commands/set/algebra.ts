// Union, intersection and difference.
//
// An intersection walks the smallest set and checks the others, a difference walks the first and checks the others,
// and a union walks all and leaves out what an earlier set has. Small ones are computed within a turn; the others in
// slices, through a pin.
import { SynclineError } from '@syncline/kernel';
import { ByteCollector, type ByteList } from '../../byte-list.js';
import type { Keyspace, Pin } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import type { Load } from '../load.js';
import type { Pause } from '../long-work.js';

export type SetRule = 'union' | 'intersection' | 'difference';

const setsMax = setsLimits.algebraSetsMax.value;
/** Sets that are checked before others may run. */
const SETS_PER_SLICE = 1_024;
/** A union of more sets remembers its members, as far as they fit in memory, instead of checking all earlier sets. */
const ASKED_SETS_MAX = 4;

/** The words from `from` up to `to` name the sets. */
export interface NamedSets {
  readonly args: ByteList;
  readonly from: number;
  readonly to: number;
}

export function estimateAlgebra(
  rule: SetRule,
  { args, from, to }: NamedSets,
  keyspace: Keyspace,
  load: Load,
): void {
  load.reads(to - from);
  if (load.isTooMuch) return;
  if (rule === 'union') {
    for (let key = from; key < to && !load.isTooMuch; key += 1) load.readsSet(args, key);
  } else {
    const walked = rule === 'difference' ? from : smallestOf(keyspace, args, from, to);
    load.readsSet(args, walked, to - from);
  }
}

export interface AlgebraResult {
  /** The words of the command from index 1 on, then the members. */
  readonly list: ByteList;
  readonly membersFrom: number;
}

/** Within a turn. Undefined: the result is larger than a reply may be. */
export function resultInTurn(
  keyspace: Keyspace,
  rule: SetRule,
  { args, from, to }: NamedSets,
): AlgebraResult | undefined {
  const words = new ByteCollector();
  for (let key = 1; key < to; key += 1) words.pushItem(args, key);
  const { list } = words;
  const [setsFrom, setsTo, membersFrom] = [from - 1, to - 1, list.length];
  const bytesMax = words.bytes + setsLimits.resultBytesMax.value;
  const walk = (set: number, isKept: (member: number) => boolean) => {
    keyspace.forEach(list, set, (buffer, start, end) => {
      if (words.bytes > bytesMax) return;
      const member = words.push(buffer, start, end);
      if (!isKept(member)) words.truncate(member);
    });
  };
  const areAll = (isWanted: boolean, walked: number) => (member: number) => {
    for (let set = setsFrom; set < setsTo; set += 1)
      if (set !== walked && keyspace.has(list, set, member) !== isWanted) return false;
    return true;
  };
  switch (rule) {
    case 'union': {
      const seen = new Set<string>();
      for (let set = setsFrom; set < setsTo; set += 1)
        walk(set, (member) => seen.size !== seen.add(list.text(member)).size);
      break;
    }
    case 'difference':
      walk(setsFrom, areAll(false, setsFrom));
      break;
    case 'intersection': {
      const smallest = smallestOf(keyspace, list, setsFrom, setsTo);
      walk(smallest, areAll(true, smallest));
    }
  }
  return words.bytes > bytesMax ? undefined : { list, membersFrom };
}

function smallestOf(keyspace: Keyspace, args: ByteList, from: number, to: number): number {
  let smallest = from;
  let fewest = keyspace.cardinality(args, from);
  for (let set = from + 1; set < to && fewest > 0; set += 1) {
    const cardinality = keyspace.cardinality(args, set);
    if (cardinality >= fewest) continue;
    smallest = set;
    fewest = cardinality;
  }
  return smallest;
}

export interface PinnedAlgebraDeps {
  readonly keyspace: Keyspace;
  readonly pause: Pause;
}

/** The result over sets of any size, as they are when it is opened. Close it. */
export class PinnedAlgebra implements Disposable {
  readonly #rule: SetRule;
  readonly #pin: Pin;
  readonly #pause: Pause;
  /** Each once, none of them empty; no sets at all when the result is empty. The first is always walked. */
  readonly #sets: readonly Uint8Array[];

  constructor(rule: SetRule, { keyspace, pause }: PinnedAlgebraDeps, named: NamedSets) {
    void keyspace.commit(); // the sets are chosen and pinned at one moment: what may be undone is stored first
    this.#rule = rule;
    this.#sets = usefulSets(rule, keyspace, named);
    this.#pin = keyspace.openPin(this.#sets);
    this.#pause = pause;
  }

  [Symbol.dispose](): void {
    this.#pin.close();
  }

  /** Each member of the result once, in batches, some of them empty. */
  async *members(): AsyncGenerator<readonly Uint8Array[], void, undefined> {
    const sets = this.#sets;
    const isUnion = this.#rule === 'union';
    const shown = isUnion && sets.length > ASKED_SETS_MAX ? new RememberedMembers() : undefined;
    for (const [index, set] of sets.entries()) {
      if (index > 0 && !isUnion) return;
      const [from, to] = isUnion ? [0, index] : [1, sets.length];
      for await (const batch of this.#pin.members(set)) {
        const kept: Uint8Array[] = [];
        for (const member of batch) {
          const known = shown?.add(member);
          if (known === 'present') continue;
          const isKept = known === 'added' || this.#agree(member, from, to);
          if (isKept === true || (isKept !== false && (await isKept))) kept.push(member);
          const pause = this.#pause();
          if (pause !== undefined) await pause;
        }
        yield kept;
      }
    }
  }

  has(member: Uint8Array): boolean | Promise<boolean> {
    const [first] = this.#sets;
    if (first === undefined) return false;
    if (this.#rule !== 'union')
      return this.#pin.has(first, member) && this.#agree(member, 1, this.#sets.length);
    const isAbsent = this.#agree(member, 0, this.#sets.length);
    return typeof isAbsent === 'boolean' ? !isAbsent : isAbsent.then((absent) => !absent);
  }

  /** Whether all of these sets contain the member; for a union or difference, whether none does. */
  #agree(member: Uint8Array, from: number, to: number): boolean | Promise<boolean> {
    const isWanted = this.#rule === 'intersection';
    const end = Math.min(to, from + SETS_PER_SLICE);
    for (let index = from; index < end; index += 1) {
      const set = this.#sets[index];
      if (set !== undefined && this.#pin.has(set, member) !== isWanted) return false;
    }
    return end === to ? true : this.#agreeLater(member, end, to);
  }

  async #agreeLater(member: Uint8Array, from: number, to: number): Promise<boolean> {
    await this.#pause();
    return this.#agree(member, from, to);
  }
}

/** The sets that matter, in the order that takes the fewest lookups. */
function usefulSets(
  rule: SetRule,
  keyspace: Keyspace,
  { args, from, to }: NamedSets,
): readonly Uint8Array[] {
  if (to - from > setsMax)
    throw new SynclineError('limit-exceeded', `more than ${setsMax} sets, name fewer at once`, {
      details: { limit: 'algebraSetsMax' },
    });
  const sets: { readonly name: Uint8Array; readonly cardinality: number }[] = [];
  const seen = new Set<string>();
  for (let key = from; key < to; key += 1) {
    if (seen.size === seen.add(args.text(key)).size) {
      const isFirst = Buffer.compare(args.bytes(key), args.bytes(from)) === 0;
      if (rule === 'difference' && isFirst) return []; // a set minus itself
      continue;
    }
    const cardinality = keyspace.cardinality(args, key);
    if (cardinality > 0) sets.push({ name: args.bytes(key), cardinality });
    else if (rule === 'intersection' || (rule === 'difference' && key === from)) return [];
  }
  const first = rule === 'difference' ? sets.splice(0, 1) : [];
  const direction = rule === 'intersection' ? 1 : -1;
  sets.sort((one, other) => direction * (one.cardinality - other.cardinality));
  return [...first, ...sets].map(({ name }) => name);
}

const REMEMBERED_BYTES_MAX = setsLimits.resultBytesMax.value;
/** About what a member costs besides its bytes. */
const MEMBER_EXTRA_BYTES = 64;

/** Members that a long read has already shown, as far as they fit in memory. */
export class RememberedMembers {
  readonly #texts = new Set<string>();
  #bytes = 0;

  get size(): number {
    return this.#texts.size;
  }

  has(member: Uint8Array): boolean {
    return this.#texts.has(textOf(member));
  }

  /** `full`: it is not among the remembered ones, and is not remembered either. */
  add(member: Uint8Array): 'added' | 'present' | 'full' {
    const text = textOf(member);
    if (this.#texts.has(text)) return 'present';
    if (this.#bytes > REMEMBERED_BYTES_MAX) return 'full';
    this.#bytes += member.length + MEMBER_EXTRA_BYTES;
    this.#texts.add(text);
    return 'added';
  }
}

function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}
