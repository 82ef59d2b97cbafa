// Makes the operations of this node, and applies those that were made earlier or elsewhere.
//
// An operation is the net effect of its commands per element: one that is added gets one dot, however often it
// is named; one that is added and removed again is as if it had not been named. Dots follow the order of first
// touching. While nothing is removed that is the order of adding, and the dots written at once are final;
// otherwise they are renumbered at the end. Each operation is encoded once, for the log and for peers.
//
// S2  Members are those of the tag model: adds make tags, removes kill the tags that their writer had seen.
// S3  The n-th element added has the counter base + n; a counter names one element.
// S4  Operations apply in causal order, so every dot that is dropped or added is covered.
import {
  assert,
  type Dot,
  formatActor,
  formatDot,
  kernelLimits,
  SynclineError,
} from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { wordOf } from '../memory/element-heap.js';
import {
  type DotWords,
  memberBuffer,
  memberEnd,
  memberStart,
  NO_DOT,
  ROW_ACTOR,
  ROW_COUNTER_HIGH,
  ROW_COUNTER_LOW,
  ROW_MEMBER_BYTES,
  SEVERAL_DOTS,
} from '../memory/element-row.js';
import type { Operation } from '../operation/operation.js';
import type { SetEntry } from './set-table.js';
import type { SetsState } from './sets-state.js';

/** Tags and lengths of a member, of a set and of its name. */
const ELEMENT_BYTES = 16;
const DOT_BYTES = 12;
/** Dependencies and the dots of one element: at most one per entry of a version vector, each. */
const RESERVED_BYTES = 2 * kernelLimits.versionVectorEntriesMax.value * DOT_BYTES + 64;
const BYTES_MAX = setsLimits.operationBytesMax.value - RESERVED_BYTES;
const ELEMENTS_MAX = setsLimits.operationElementsMax.value;

/** The operation that is being made here. */
export class LocalOperation {
  readonly #state: SetsState;
  readonly #words: DotWords = { actor: 0, high: 0, low: 0 };
  #depth = 0;
  #base = 0;
  #added = 0;
  /** Elements were added in another order than first touched. */
  #isOutOfOrder = false;
  #lastSlot = 0;
  #bytes = 0;

  constructor(state: SetsState) {
    this.#state = state;
  }

  get isRunning(): boolean {
    return this.#depth > 0;
  }

  /** Pairs of `begin` and `end` may be nested; the outermost is the operation. */
  begin(): void {
    this.#depth += 1;
    if (this.#depth > 1) return;
    this.#base = this.#state.version.ownCounter + 1;
    this.#added = 0;
    this.#isOutOfOrder = false;
    this.#lastSlot = 0;
    this.#bytes = 0;
    this.#state.startOperation();
  }

  /** True when it was absent. It gets a new dot either way, once per operation. */
  add(set: SetEntry, list: ByteList, index: number): boolean {
    this.#checkRoom(set, list.sizeOf(index));
    const row = this.#state.findOrInsert(set, list, index);
    const page = this.#state.heap.words[row >>> 16] as Int32Array;
    const start = wordOf(row);
    const isTouched = this.#touch(set, row, page, start);
    const before = page[start + ROW_ACTOR] as number;
    if (isTouched) {
      if (before !== NO_DOT) return false; // it was added in this operation
      this.#isOutOfOrder = true;
    }
    const counter = this.#base + this.#added;
    this.#added += 1;
    const words = this.#words;
    words.actor = this.#state.version.own | 0;
    words.high = Math.floor(counter / 2 ** 32);
    words.low = counter | 0;
    this.#state.write(set, row, words);
    return before === NO_DOT;
  }

  /** True when it was present. */
  remove(set: SetEntry, list: ByteList, index: number): boolean {
    const row = this.#state.find(set, list, index);
    return row !== 0 && this.removeRow(set, row);
  }

  removeRow(set: SetEntry, row: number): boolean {
    const page = this.#state.heap.words[row >>> 16] as Int32Array;
    const start = wordOf(row);
    if (page[start + ROW_ACTOR] === NO_DOT) return false;
    this.#checkRoom(set, page[start + ROW_MEMBER_BYTES] as number);
    if (this.#touch(set, row, page, start)) this.#isOutOfOrder = true;
    const words = this.#words;
    words.actor = NO_DOT;
    words.high = 0;
    words.low = 0;
    this.#state.write(set, row, words);
    return true;
  }

  /** True when the operation has changed something. Otherwise there is none, and no counter is taken. */
  end(): boolean {
    assert(this.#depth > 0, 'an operation is running');
    this.#depth -= 1;
    if (this.#depth > 0) return false;
    const state = this.#state;
    const { operationStart, undoLength, record } = state;
    if (undoLength === operationStart) return false;
    if (this.#isOutOfOrder) this.#renumber();
    record.begin(state.version.own, this.#base);
    this.#lastSlot = 0;
    for (let place = operationStart; place < undoLength; place += 1) this.#encode(place);
    if (record.elements === 0) {
      record.cancel();
      state.abandonOperation();
      return false;
    }
    const before = state.version.ownCounter;
    const count = record.end(state.takeDependencies());
    assert(count === Math.max(1, this.#added), 'S3: one counter per element added');
    state.advanceOwn(before + count);
    return true;
  }

  /** Takes back everything since the outermost `begin`, which ends here. */
  abandon(): void {
    assert(this.#depth > 0, 'an operation is running');
    this.#depth = 0;
    this.#state.abandonOperation();
  }

  /** Ends the innermost pair after a failure; only the outermost takes everything back. */
  giveUp(): void {
    if (this.#depth === 1) this.abandon();
    else this.#depth -= 1;
  }

  #checkRoom(set: SetEntry, memberBytes: number): void {
    const elements = this.#state.undoLength - this.#state.operationStart;
    const bytes = this.#bytes + set.name.length + memberBytes + ELEMENT_BYTES + DOT_BYTES;
    if (elements < ELEMENTS_MAX && bytes <= BYTES_MAX) return;
    throw new SynclineError(
      'limit-exceeded',
      `the change is larger than one operation may be (${ELEMENTS_MAX} elements, ${BYTES_MAX} bytes)`,
      { details: { limit: 'operationElementsMax' } },
    );
  }

  #touch(set: SetEntry, row: number, page: Int32Array, start: number): boolean {
    if (this.#state.touch(set, row, page, start)) return true;
    const isSeveral = page[start + ROW_ACTOR] === SEVERAL_DOTS;
    const dots = isSeveral ? this.#dotsOf(page, start) : 1;
    const name = set.slot === this.#lastSlot ? 0 : set.name.length;
    this.#bytes +=
      ELEMENT_BYTES + name + (page[start + ROW_MEMBER_BYTES] as number) + dots * DOT_BYTES;
    this.#lastSlot = set.slot;
    return false;
  }

  #dotsOf(page: Int32Array, start: number): number {
    const low = page[start + ROW_COUNTER_LOW] as number;
    return this.#state.several.read({ actor: SEVERAL_DOTS, high: 0, low }).length;
  }

  /** Numbers the dots of the added elements in the order in which these were first touched. */
  #renumber(): void {
    const state = this.#state;
    this.#added = 0;
    for (let place = state.operationStart; place < state.undoLength; place += 1) {
      const row = state.touchedRow(place);
      const page = state.heap.words[row >>> 16] as Int32Array;
      const start = wordOf(row);
      if (page[start + ROW_ACTOR] === NO_DOT) continue;
      const counter = this.#base + this.#added;
      page[start + ROW_COUNTER_HIGH] = Math.floor(counter / 2 ** 32);
      page[start + ROW_COUNTER_LOW] = counter | 0;
      this.#added += 1;
    }
  }

  /** Encodes one element of the operation, if it has changed; digest and pins follow. */
  #encode(place: number): void {
    const state = this.#state;
    const { heap, record, digest, pins } = state;
    const row = state.touchedRow(place);
    const page = heap.words[row >>> 16] as Int32Array;
    const start = wordOf(row);
    const isPresent = page[start + ROW_ACTOR] !== NO_DOT;
    state.readDotsBefore(place, this.#words);
    if (!isPresent && this.#words.actor === NO_DOT) return;
    const slot = state.touchedSlot(place);
    if (slot !== this.#lastSlot) {
      const { name } = state.sets.at(slot);
      record.set(name, 0, name.length);
      this.#lastSlot = slot;
    }
    const bytes = memberBuffer(heap, row);
    if (isPresent) {
      record.add(bytes, memberStart(row), memberEnd(heap, row));
      const actor = page[start + ROW_ACTOR] as number;
      const high = page[start + ROW_COUNTER_HIGH] as number;
      const low = page[start + ROW_COUNTER_LOW] as number;
      digest.add(actor, high, low);
      if (pins.areFollowing) pins.added(state.touchedSet(place), row, actor, high, low);
    } else {
      record.remove(bytes, memberStart(row), memberEnd(heap, row));
    }
    if (this.#words.actor !== NO_DOT) this.#drop(place, row, this.#words);
  }

  #drop(place: number, row: number, words: DotWords): void {
    const { record, digest, several, pins } = this.#state;
    if (pins.areOpen) pins.dropped(this.#state.touchedSet(place), row, several.read(words), []);
    if (words.actor !== SEVERAL_DOTS) {
      record.dropped(words.actor, words.high, words.low);
      digest.drop(words.actor, words.high, words.low);
      return;
    }
    const dots = several.read(words);
    for (const { actor, counter } of dots)
      record.dropped(actor, Math.floor(counter / 2 ** 32), counter | 0);
    digest.dropAll(dots);
  }
}

/** Members between two steps of `applyOperation`. */
const SLICE_MEMBERS = 512;

/**
 * Applies an operation that was made earlier or elsewhere: drops the dots that it lists, adds its new ones. Each
 * step applies a slice; nothing else may be applied in between. Refuses one that is not the next of its actor, or
 * that comes before something it depends on.
 */
export function* applyOperation(
  state: SetsState,
  operation: Operation,
): Generator<void, void, undefined> {
  checkReady(state, operation);
  state.startOperation();
  for (let member = 0; member < operation.members.length; member += 1) {
    if (member % SLICE_MEMBERS === SLICE_MEMBERS - 1) yield;
    applyMember(state, operation, member);
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
  const missing = dependencies.entries().find((dot) => dot.counter > version.counterOf(dot.actor));
  if (missing === undefined) return;
  throw new SynclineError(
    'corrupt',
    `an operation of ${formatActor(actor)} depends on ${formatDot(missing)}, which is not applied: the log is damaged`,
  );
}

function applyMember(state: SetsState, operation: Operation, member: number): void {
  const { heap, several, pins, digest } = state;
  const setIndex = operation.setOf(member);
  const counter = operation.counterOf(member);
  const set =
    counter > 0
      ? state.sets.findOrCreate(operation.sets, setIndex)
      : state.sets.find(operation.sets, setIndex);
  if (set === undefined) return;
  const row =
    counter > 0
      ? state.findOrInsert(set, operation.members, member)
      : state.find(set, operation.members, member);
  if (row === 0) return;
  const page = heap.words[row >>> 16] as Int32Array;
  const start = wordOf(row);
  const words: DotWords = {
    actor: page[start + ROW_ACTOR] as number,
    high: page[start + ROW_COUNTER_HIGH] as number,
    low: page[start + ROW_COUNTER_LOW] as number,
  };
  const before = several.read(words);
  const after: Dot[] = before.filter(({ actor, counter: c }) => !operation.dropped.has(actor, c));
  if (counter === 0 && after.length === before.length) return;
  state.touch(set, row, page, start);
  digest.dropAll(before.filter(({ actor, counter: c }) => operation.dropped.has(actor, c)));
  if (pins.areOpen && after.length < before.length) pins.dropped(set, row, before, after);
  if (counter > 0) {
    const { actor } = operation;
    const high = Math.floor(counter / 2 ** 32);
    digest.add(actor, high, counter | 0);
    if (pins.areFollowing) pins.added(set, row, actor, high, counter | 0);
    after.push({ actor, counter });
  }
  several.write(after, words);
  state.write(set, row, words);
}
