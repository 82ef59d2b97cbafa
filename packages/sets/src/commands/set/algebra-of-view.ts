// Union, intersection and difference of sets of any size, read through a view as ordered streams.
//
// Sets of like size are merged. A set that is much larger than the one that bounds the result is not read
// through but asked member by member, and so are those beyond `mergedSetsMax`, as each stream holds a page.
import type { Keyspace, KeyspaceView } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import { mergeOrdered, type SetRule } from './ordered-merge.js';

/** From this ratio on asking is cheaper than reading through. */
const ASK_RATIO = 32;

type Batch = readonly Uint8Array[];

export interface ViewedSets {
  readonly keyspace: Keyspace;
  readonly view: KeyspaceView;
  /** Taken one by one, as there may be a million. */
  readonly names: Iterable<Uint8Array>;
}

/**
 * Batches of the result, some of them empty. A union of more than `mergedSetsMax` sets comes in groups, and
 * a member of two groups comes twice; within a group the order is that of positions.
 */
export async function* resultOfView(
  rule: SetRule,
  viewed: ViewedSets,
): AsyncGenerator<Batch, void, undefined> {
  const { keyspace, view } = viewed;
  const sets = await fullSets(rule, viewed);
  const [first] = sets;
  if (first === undefined) return;
  if (rule === 'union') {
    yield* unionInGroups(sets, view);
    return;
  }
  const base = rule === 'difference' ? first : smallestOf(sets, first);
  const others = sets.filter((set) => set !== base);
  yield* filtered({ keyspace, view, rule, base, others });
}

interface ViewedSet {
  readonly name: Uint8Array;
  readonly cardinality: number;
}

/** Sets that are not empty, each once, in the order of the names. None: the result is empty, too. */
async function fullSets(
  rule: SetRule,
  { keyspace, view, names }: ViewedSets,
): Promise<readonly ViewedSet[]> {
  const sets: ViewedSet[] = [];
  const seen = new Set<string>();
  let firstText: string | undefined;
  for (const name of names) {
    const text = Buffer.from(name.buffer, name.byteOffset, name.length).toString('latin1');
    if (rule === 'difference' && text === firstText) return []; // what a set has beyond itself
    if (seen.size !== seen.add(text).size) {
      const cardinality = view.cardinality(name);
      if (cardinality > 0) sets.push({ name, cardinality });
      else if (rule === 'intersection' || (rule === 'difference' && firstText === undefined))
        return [];
    }
    firstText ??= text;
    const pause = keyspace.breathe();
    if (pause !== undefined) await pause;
  }
  return sets;
}

function smallestOf(sets: readonly ViewedSet[], first: ViewedSet): ViewedSet {
  let smallest = first;
  for (const set of sets) if (set.cardinality < smallest.cardinality) smallest = set;
  return smallest;
}

async function* unionInGroups(
  sets: readonly ViewedSet[],
  view: KeyspaceView,
): AsyncGenerator<Batch, void, undefined> {
  const groupSize = setsLimits.mergedSetsMax.value;
  for (let from = 0; from < sets.length; from += groupSize) {
    const streams = sets.slice(from, from + groupSize).map(({ name }) => view.members(name));
    yield* mergeOrdered('union', { streams, positionOf: (member) => view.positionOf(member) });
  }
}

interface Filter {
  readonly keyspace: Keyspace;
  readonly view: KeyspaceView;
  readonly rule: 'intersection' | 'difference';
  readonly base: ViewedSet;
  readonly others: readonly ViewedSet[];
}

/** Members of the base that all others have, or that none has. */
async function* filtered(filter: Filter): AsyncGenerator<Batch, void, undefined> {
  const { view, rule, base, others } = filter;
  const merged: ViewedSet[] = [];
  const asked: ViewedSet[] = [];
  for (const set of others) {
    const isLike = set.cardinality <= base.cardinality * ASK_RATIO;
    (isLike && merged.length < setsLimits.mergedSetsMax.value ? merged : asked).push(set);
  }
  const streams = [base, ...merged].map(({ name }) => view.members(name));
  const positionOf = (member: Uint8Array) => view.positionOf(member);
  for await (const batch of mergeOrdered(rule, { streams, positionOf })) {
    if (asked.length === 0) {
      yield batch;
      continue;
    }
    const kept: Uint8Array[] = [];
    for (const member of batch) {
      if (await isKept(filter, asked, member)) kept.push(member);
    }
    yield kept;
  }
}

async function isKept(
  { keyspace, view, rule }: Filter,
  asked: readonly ViewedSet[],
  member: Uint8Array,
): Promise<boolean> {
  const isWanted = rule === 'intersection';
  for (const { name } of asked) {
    if (view.has(name, member) !== isWanted) return false;
    const pause = keyspace.breathe();
    if (pause !== undefined) await pause;
  }
  return true;
}
