// Applies operations that were made earlier or elsewhere: drops the dots that they list, and adds their new ones.
//
// S2  Members are those of the tag model: adds make tags, removes kill the tags that their writer had seen.
// S4  Operations apply in causal order, so every dot that is dropped or added is covered.
import { type Dot, formatActor, formatDot, SynclineError } from '@syncline/kernel';
import { wordOf } from '../memory/element-heap.js';
import { type DotWords, NO_DOT, readDots, SEVERAL_DOTS } from '../memory/element-row.js';
import { AHEAD_MAX } from '../memory/order-hash.js';
import type { Operation } from '../operation/decode-operations.js';
import type { SetsState } from './sets-state.js';

/** Members between two steps of `applyOperation`. */
const SLICE_MEMBERS = 128;

/**
 * Each step applies a slice; nothing else may be applied in between. Refuses one that is not the next of its actor, or
 * that comes before something it depends on.
 */
export function* applyOperation(
  state: SetsState,
  operation: Operation,
): Generator<void, void, undefined> {
  checkReady(state, operation);
  state.startOperation();
  const words: DotWords = { actor: 0, high: 0, low: 0 };
  for (let member = 0; member < operation.members.length; member += 1) {
    if (member % SLICE_MEMBERS === SLICE_MEMBERS - 1) yield;
    applyMember(state, operation, member, words);
  }
  state.advance(operation.actor, operation.base + operation.count - 1);
}

function checkReady({ version }: SetsState, { actor, base, dependencies }: Operation): void {
  const applied = version.counterOf(actor);
  if (applied !== base - 1) {
    throw new SynclineError(
      'corrupt',
      `an operation of ${formatActor(actor)} starts with counter ${base}, but the last one applied is ${applied}: the log is damaged`,
    );
  }
  if (dependencies.size === 0) return; // nearly always
  const missing = dependencies.entries().find((dot) => dot.counter > version.counterOf(dot.actor));
  if (missing === undefined) return;
  throw new SynclineError(
    'corrupt',
    `an operation of ${formatActor(actor)} depends on ${formatDot(missing)}, which is not applied: the log is damaged`,
  );
}

/** `words` is overwritten. */
function applyMember(
  state: SetsState,
  operation: Operation,
  member: number,
  words: DotWords,
): void {
  const { heap, several, pins } = state;
  const setIndex = operation.setOf(member);
  const counter = operation.counterOf(member);
  const set =
    counter > 0
      ? state.sets.findOrCreate(operation.sets, setIndex)
      : state.sets.find(operation.sets, setIndex);
  if (set === undefined) return;
  if (member % AHEAD_MAX === 0 && operation.members.length > 1)
    state.fetch(set, operation.members, member);
  const row =
    counter > 0
      ? state.findOrInsert(set, operation.members, member)
      : state.find(set, operation.members, member);
  if (row === 0) return;
  const page = heap.words[row >>> 16] as Int32Array;
  const start = wordOf(row);
  readDots(page, start, words);
  const isNew = words.actor === NO_DOT;
  if (counter > 0 && (isNew || (!pins.areOpen && isDropped(operation, words)))) {
    // In nearly all cases the element gets its first dot, or a single one replaces another. That needs no lists.
    state.touch(set, row, page, start);
    words.actor = operation.actor | 0;
    words.high = Math.floor(counter / 2 ** 32);
    words.low = counter | 0;
    if (pins.areFollowing) pins.added(set, row, words);
    state.write(set, row, words);
    return;
  }
  const before = several.read(words);
  const after: Dot[] = before.filter(({ actor, counter: c }) => !operation.dropped.has(actor, c));
  if (counter === 0 && after.length === before.length) return;
  state.touch(set, row, page, start);
  if (pins.areOpen && after.length < before.length) pins.dropped(set, row, before, after);
  if (counter > 0) {
    const { actor } = operation;
    const high = Math.floor(counter / 2 ** 32);
    if (pins.areFollowing) pins.added(set, row, { actor, high, low: counter | 0 });
    after.push({ actor, counter });
  }
  several.write(after, words);
  state.write(set, row, words);
}

/** Whether the words represent a single dot, which the operation drops. */
function isDropped({ dropped }: Operation, { actor, high, low }: DotWords): boolean {
  return actor !== SEVERAL_DOTS && dropped.has(actor >>> 0, (high >>> 0) * 2 ** 32 + (low >>> 0));
}
