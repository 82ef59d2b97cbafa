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
  readonly names: readonly Uint8Array[];
}

/**
 * Batches of the result, some of them empty. A union of more than `mergedSetsMax` sets comes in groups, and
 * a member of two groups comes twice; within a group the order is that of positions.
 */
export async function* resultOfView(
  rule: SetRule,
  { keyspace, view, names }: ViewedSets,
): AsyncGenerator<Batch, void, undefined> {
  const [first] = names;
  if (first === undefined) return;
  const sets = await viewedSets(keyspace, view, names);
  switch (rule) {
    case 'union':
      yield* unionInGroups(sets, view);
      return;
    case 'intersection': {
      const bySize = sets.toSorted((one, other) => one.cardinality - other.cardinality);
      if ((bySize[0]?.cardinality ?? 0) === 0) return;
      yield* filtered({ keyspace, view, rule, base: bySize[0], others: bySize.slice(1) });
      return;
    }
    case 'difference': {
      const base = sets[0];
      const others = sets.slice(1).filter(({ cardinality }) => cardinality > 0);
      const isSelf = names.slice(1).some((name) => Buffer.compare(name, first) === 0);
      if (!isSelf) yield* filtered({ keyspace, view, rule, base, others });
    }
  }
}

interface ViewedSet {
  readonly name: Uint8Array;
  readonly cardinality: number;
}

/** Each name once, in the order of first appearance. */
async function viewedSets(
  keyspace: Keyspace,
  view: KeyspaceView,
  names: readonly Uint8Array[],
): Promise<readonly ViewedSet[]> {
  const byText = new Map<string, ViewedSet>();
  for (const name of names) {
    const text = Buffer.from(name.buffer, name.byteOffset, name.length).toString('latin1');
    if (!byText.has(text)) byText.set(text, { name, cardinality: view.cardinality(name) });
    const pause = keyspace.breathe();
    if (pause !== undefined) await pause;
  }
  return [...byText.values()];
}

async function* unionInGroups(
  sets: readonly ViewedSet[],
  view: KeyspaceView,
): AsyncGenerator<Batch, void, undefined> {
  const full = sets.filter(({ cardinality }) => cardinality > 0);
  const groupSize = setsLimits.mergedSetsMax.value;
  for (let from = 0; from < full.length; from += groupSize) {
    const streams = full.slice(from, from + groupSize).map(({ name }) => view.members(name));
    yield* mergeOrdered('union', { streams, positionOf: (member) => view.positionOf(member) });
  }
}

interface Filter {
  readonly keyspace: Keyspace;
  readonly view: KeyspaceView;
  readonly rule: 'intersection' | 'difference';
  readonly base: ViewedSet | undefined;
  readonly others: readonly ViewedSet[];
}

/** Members of the base that all others have, or that none has. */
async function* filtered(filter: Filter): AsyncGenerator<Batch, void, undefined> {
  const { view, rule, base, others } = filter;
  if (base === undefined) return;
  const isMerged = ({ cardinality }: ViewedSet, index: number) =>
    cardinality <= base.cardinality * ASK_RATIO && index < setsLimits.mergedSetsMax.value;
  const merged = others.filter(isMerged);
  const asked = others.filter((set, index) => !isMerged(set, index));
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
