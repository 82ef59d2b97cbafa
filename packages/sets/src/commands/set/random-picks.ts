// Random members of a set of any size, through a view.
//
// Different members: a few are drawn again until they differ; many are chosen in one pass over the set, in
// which each member is taken with the probability that keeps every choice as likely as any other
// (selection sampling, Knuth 3.4.2 S). Both are exactly uniform and need no memory for the set.
import type { Random } from '@syncline/kernel';
import { randomBelow } from '@syncline/kernel';
import type { KeyspaceView } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';

/** Above this part of the set a pass over it is cheaper than drawing. */
const DRAWN_PART_MAX = 1 / 8;
const DRAWN_BYTES_MAX = 4 * setsLimits.turnBytesMax.value;
const BATCH = 64;

type Batches = AsyncGenerator<readonly Uint8Array[], void, undefined>;

export interface PickedSet {
  readonly view: KeyspaceView;
  readonly set: Uint8Array;
  readonly random: Random;
}

/** `count` different members, or all if there are fewer. */
export async function* pickDifferent(from: PickedSet, count: number): Batches {
  const { view, set, random } = from;
  let left = view.cardinality(set);
  let wanted = Math.min(count, left);
  if (wanted <= left * DRAWN_PART_MAX) {
    const few = await drawDifferent(from, wanted);
    if (few !== undefined) {
      yield few;
      return;
    }
  }
  for await (const batch of view.members(set)) {
    const picked: Uint8Array[] = [];
    for (const member of batch) {
      if (random.float() * left < wanted) {
        picked.push(member);
        wanted -= 1;
      }
      left -= 1;
    }
    yield picked;
    if (wanted === 0) return;
  }
}

/** `count` draws from a set that is not empty; members may repeat. */
export async function* drawRepeatedly(from: PickedSet, count: number): Batches {
  const { view, set, random } = from;
  const members = await smallSet(from);
  for (let left = count; left > 0; left -= BATCH) {
    const batch: Uint8Array[] = [];
    for (let drawn = 0; drawn < Math.min(left, BATCH); drawn += 1) {
      const member = members?.[randomBelow(random, members.length)];
      batch.push(member ?? (await view.randomMember(set)));
    }
    yield batch;
  }
}

/** Undefined: the members drawn are too large to remember. */
async function drawDifferent(
  { view, set }: PickedSet,
  count: number,
): Promise<readonly Uint8Array[] | undefined> {
  const drawn = new Map<string, Uint8Array>();
  let bytes = 0;
  while (drawn.size < count) {
    const member = await view.randomMember(set);
    bytes += member.length + BATCH;
    if (bytes > DRAWN_BYTES_MAX) return undefined;
    drawn.set(Buffer.from(member).toString('latin1'), member);
  }
  return [...drawn.values()];
}

/** All members, if they are few: then drawing needs no more reads. */
async function smallSet({ view, set }: PickedSet): Promise<readonly Uint8Array[] | undefined> {
  if (view.cardinality(set) > setsLimits.turnMembersMax.value) return undefined;
  const members: Uint8Array[] = [];
  let bytes = 0;
  for await (const batch of view.members(set)) {
    for (const member of batch) bytes += member.length;
    if (bytes > DRAWN_BYTES_MAX) return undefined;
    members.push(...batch);
  }
  return members;
}
