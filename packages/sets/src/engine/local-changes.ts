// Makes the operations of this node.
//
// An operation is the net effect of its commands per element: one that is added gets one dot, however often it is
// named; one that is added and removed again does not appear at all. Dots follow the order in which elements are
// first touched. As long as nothing is removed, that is the order of adding, and the dots written immediately are
// final; otherwise they are renumbered at the end. Each operation is encoded once, for the log and for peers.
//
// S2  Members are those of the tag model: adds make tags, removes kill the tags that their writer had seen.
// S3  The n-th element added has the counter base + n; a counter names one element.
import { assert, kernelLimits, SynclineError } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type { VisitBytes } from '../keyspace.js';
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
  readDots,
  SEVERAL_DOTS,
} from '../memory/element-row.js';
import { AHEAD_MAX } from '../memory/order-hash.js';
import type { SetEntry } from './set-table.js';
import type { SetsState } from './sets-state.js';

/** Tags and lengths of a member, of a set and of its name. */
const ELEMENT_BYTES = 16;
const DOT_BYTES = 12;
/** Dependencies and the dots of one element: at most one per entry of a version vector, each. */
const RESERVED_BYTES = 2 * kernelLimits.versionVectorEntriesMax.value * DOT_BYTES + 64;
const BYTES_MAX = setsLimits.operationBytesMax.value - RESERVED_BYTES;
const ELEMENTS_MAX = setsLimits.operationElementsMax.value;

export interface LocalChangesDeps {
  readonly state: SetsState;
  readonly operation: LocalOperation;
  /** Called after each operation; see `Turns`. */
  readonly turns: { operationEnded(): void };
}

/** What commands change, each call as one operation, or as a part of one between `begin` and `end`. */
export abstract class LocalChanges {
  protected readonly state: SetsState;
  readonly #operation: LocalOperation;
  readonly #turns: LocalChangesDeps['turns'];
  protected refusal: SynclineError | undefined;

  constructor({ state, operation, turns }: LocalChangesDeps) {
    this.state = state;
    this.#operation = operation;
    this.#turns = turns;
  }

  /** From now on changes throw this; undefined allows them again. */
  refuseWrites(error: SynclineError | undefined): void {
    this.refusal = error;
  }

  add(args: ByteList, key: number, from: number, to = args.length): number {
    if (from >= to) return 0; // it would leave a set without members
    this.begin();
    let set: SetEntry | undefined;
    let added = 0;
    try {
      set = this.state.sets.findOrCreate(args, key);
      for (let index = from; index < to; index += 1) {
        if ((index - from) % AHEAD_MAX === 0 && to - from > 1) this.state.fetch(set, args, index);
        if (this.#operation.add(set, args, index)) added += 1;
      }
    } catch (thrown) {
      this.#giveUp(set);
      throw thrown;
    }
    this.end();
    return added;
  }

  remove(args: ByteList, key: number, from: number, to = args.length): number {
    const set = this.state.sets.find(args, key);
    if (set === undefined) return 0;
    this.begin();
    let removed = 0;
    try {
      for (let index = from; index < to; index += 1) {
        if ((index - from) % AHEAD_MAX === 0 && to - from > 1) this.state.fetch(set, args, index);
        if (this.#operation.remove(set, args, index)) removed += 1;
      }
    } catch (thrown) {
      this.#giveUp(set);
      throw thrown;
    }
    this.end();
    return removed;
  }

  begin(): void {
    if (this.refusal !== undefined) throw this.refusal;
    this.#operation.begin();
  }

  end(): void {
    if (this.#operation.end()) this.#turns.operationEnded();
  }

  abandon(): void {
    this.#operation.giveUp();
  }

  protected removeRows(
    set: SetEntry,
    rows: readonly number[],
    visit: VisitBytes | undefined,
  ): number {
    this.begin();
    try {
      for (const row of rows) this.#operation.removeRow(set, row);
      // Rows stay until the turn ends, so their members can still be read.
      if (visit !== undefined) for (const row of rows) this.show(row, visit);
    } catch (thrown) {
      this.#giveUp(set);
      throw thrown;
    }
    this.end();
    return rows.length;
  }

  /** Inside an operation of the caller, the caller abandons it. */
  #giveUp(set: SetEntry | undefined): void {
    this.state.endFetch(); // what was fetched is for the members of this command
    this.#operation.giveUp();
    if (set !== undefined) this.state.sets.forgetIfUnused(set);
  }

  protected show(row: number, visit: VisitBytes): void {
    const { heap } = this.state;
    visit(memberBuffer(heap, row), memberStart(row), memberEnd(heap, row));
  }
}

/** The operation that is being built. */
export class LocalOperation {
  readonly #state: SetsState;
  readonly #words: DotWords = { actor: 0, high: 0, low: 0 };
  #depth = 0;
  #base = 0;
  #added = 0;
  /** Elements were added in a different order than they were first touched. */
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

  /** Ends the innermost pair after a failure; only the outermost undoes everything. */
  giveUp(): void {
    assert(this.#depth > 0, 'an operation is running');
    this.#depth -= 1;
    if (this.#depth === 0) this.#state.abandonOperation();
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

  /** Encodes one element of the operation, if it has changed; pins follow. */
  #encode(place: number): void {
    const state = this.#state;
    const { heap, record, pins } = state;
    const row = state.touchedRow(place);
    const page = heap.words[row >>> 16] as Int32Array;
    const start = wordOf(row);
    const isPresent = page[start + ROW_ACTOR] !== NO_DOT;
    state.readDotsBefore(place, this.#words);
    if (!isPresent && this.#words.actor === NO_DOT) return;
    const { slot, name } = state.touchedSet(place);
    if (slot !== this.#lastSlot) record.set(name, 0, name.length);
    this.#lastSlot = slot;
    const bytes = memberBuffer(heap, row);
    if (isPresent) {
      record.add(bytes, memberStart(row), memberEnd(heap, row));
      if (pins.areFollowing) {
        const added: DotWords = { actor: 0, high: 0, low: 0 };
        readDots(page, start, added);
        pins.added(state.touchedSet(place), row, added);
      }
    } else {
      record.remove(bytes, memberStart(row), memberEnd(heap, row));
    }
    if (this.#words.actor !== NO_DOT) this.#drop(place, row, this.#words);
  }

  #drop(place: number, row: number, words: DotWords): void {
    const { record, several, pins } = this.#state;
    if (pins.areOpen) pins.dropped(this.#state.touchedSet(place), row, several.read(words), []);
    if (words.actor !== SEVERAL_DOTS) {
      record.dropped(words.actor, words.high, words.low);
      return;
    }
    for (const { actor, counter } of several.read(words))
      record.dropped(actor, Math.floor(counter / 2 ** 32), counter | 0);
  }
}
