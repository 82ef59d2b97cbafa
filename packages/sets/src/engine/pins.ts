// Pins: the state at one moment without a copy.
//
// A pin is the version of that moment and a list of what was dropped since and belongs to it. To read it: walk the
// live tables, skip dots that the version does not cover, then take the list. While no pin is open writers pay
// nothing; while one is, one coverage check per dropped dot. Pins are opened and walked between turns only, when
// everything in memory is in the log, so undoing a turn just takes back the entries of that turn.
//
//   MemberPin   some sets, for commands: each element once; also answers `has` and draws at random
//   DotPin      all sets, for checkpoints and repairs: each dot once per walk
//   AddedDots   the opposite, for pulls: what was added since
//
// S20  A pin yields exactly the elements and dots of its moment, each once.
import { assert, type Dot, SynclineError, type VersionVector } from '@syncline/kernel';
import { wordOf } from '../memory/element-heap.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  NO_DOT,
  ROW_ACTOR,
  ROW_COUNTER_HIGH,
  ROW_COUNTER_LOW,
  ROW_HASH_HIGH,
  readWord,
  SEVERAL_DOTS,
} from '../memory/element-row.js';
import { ElementList } from './element-list.js';
import type { OpenPin } from './open-pins.js';
import type { SetEntry } from './set-table.js';
import type { SetsState } from './sets-state.js';

export abstract class Pin implements OpenPin {
  readonly version: VersionVector;
  readonly #state: SetsState;
  readonly #counters = new Map<number, number>();
  isBroken = false;

  constructor(state: SetsState) {
    this.#state = state;
    this.version = state.version.toVector();
    for (const { actor, counter } of this.version.entries()) this.#counters.set(actor, counter);
    state.pins.add(this);
  }

  protected get state(): SetsState {
    return this.#state;
  }

  covers(actor: number, counter: number): boolean {
    return counter <= (this.#counters.get(actor >>> 0) ?? 0);
  }

  /** Whether the element of this row has a dot of the pin's moment. */
  coversRow(row: number): boolean {
    const page = this.#state.heap.words[row >>> 16] as Int32Array;
    const start = wordOf(row);
    const actor = page[start + ROW_ACTOR] as number;
    if (actor === NO_DOT) return false;
    const low = page[start + ROW_COUNTER_LOW] as number;
    const high = page[start + ROW_COUNTER_HIGH] as number;
    if (actor !== SEVERAL_DOTS) return this.covers(actor, high * 2 ** 32 + (low >>> 0));
    const dots = this.#state.several.read({ actor, high, low });
    return dots.some((dot) => this.covers(dot.actor, dot.counter));
  }

  abstract readonly entries: number;
  abstract readonly bytes: number;
  abstract dropped(set: SetEntry, row: number, before: readonly Dot[], after: readonly Dot[]): void;
  abstract turnSettled(): void;
  abstract turnUndone(): void;
  abstract free(): void;

  /** Frees its list; its reads throw from now on. */
  break(): void {
    this.isBroken = true;
    this.close();
  }

  close(): void {
    this.#state.pins.remove(this);
    this.free();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  protected checkWhole(): void {
    if (!this.isBroken) return;
    throw new SynclineError(
      'overloaded',
      'the sets changed too much during the read; try again, or read fewer sets at once',
      { details: { limit: 'pinEntriesMax' } },
    );
  }
}

/** A pin over all sets, with one list. */
abstract class ListPin extends Pin {
  protected list = new ElementList();

  get entries(): number {
    return this.list.length;
  }

  get bytes(): number {
    return this.list.memoryBytes;
  }

  turnSettled(): void {
    this.list.settle();
  }

  turnUndone(): void {
    this.list.undo();
  }

  free(): void {
    this.list = new ElementList();
  }
}

const NO_DOTS: readonly Dot[] = [];

/** Dots of one element, valid during the call. `member` gives a view that is valid during the call; most walks do not need it. */
export type VisitDots = (dots: readonly Dot[], set: Uint8Array, member: () => Uint8Array) => void;

/** Sets that are taken from the table at once; each costs a reference. */
const SETS_PER_BATCH = 256;
const HASH_END = 2 ** 32;

/** Every dot of all sets. A pin that is walked only once needs no entries for elements that the walk has passed. */
export class DotPin extends ListPin {
  readonly #isWalkedAgain: boolean;
  #walkNumber = 1;
  /** Sets that are being walked, by the position of their names, and how far the walk has come. */
  #batch: SetEntry[] = [];
  readonly #indexInBatch = new Map<SetEntry, number>();
  #index = 0;
  #hash = 0;
  /** Sets before this position were taken into a batch. Beyond all of them at the end. */
  #nextPosition = 0;
  #isWalked = false;
  #listed = 0;
  /** Reused, so that a walk over millions of elements creates no garbage. */
  readonly #only: readonly [{ -readonly [Field in keyof Dot]: Dot[Field] }] = [
    { actor: 0 as Dot['actor'], counter: 0 },
  ];

  constructor(state: SetsState, walks: 'once' | 'again' = 'once') {
    super(state);
    this.#isWalkedAgain = walks === 'again';
  }

  dropped(set: SetEntry, row: number, before: readonly Dot[], after: readonly Dot[]): void {
    const hasPassed = this.#hasPassed(set, row);
    if (hasPassed && !this.#isWalkedAgain) return;
    const { heap } = this.state;
    for (const dot of before) {
      if (!this.covers(dot.actor, dot.counter)) continue;
      if (after.some(({ actor, counter }) => actor === dot.actor && counter === dot.counter))
        continue;
      this.list.push(set, heap, row, dot, hasPassed ? this.#walkNumber : 0);
    }
  }

  rewind(): void {
    assert(this.#isWalkedAgain, 'only a pin that keeps all entries is walked again');
    this.#walkNumber += 1;
    this.#batch = [];
    this.#indexInBatch.clear();
    this.#index = 0;
    this.#hash = 0;
    this.#nextPosition = 0;
    this.#isWalked = false;
    this.#listed = 0;
  }

  override free(): void {
    super.free();
    this.#batch = [];
    this.#indexInBatch.clear();
  }

  /** One step of a whole walk: `walk`, then `walkDropped`. False at the end. */
  step(count: number, visit: VisitDots): boolean {
    const { heap } = this.state;
    let current = 0;
    const member = () =>
      memberBuffer(heap, current).subarray(memberStart(current), memberEnd(heap, current));
    const isMore = this.walk(count, ({ name }, row, dots) => {
      current = row;
      visit(dots, name, member);
    });
    if (isMore) return true;
    return this.walkDropped(count, ({ name }, bytes, dot) => visit([dot], name, () => bytes));
  }

  /**
   * Visits about `rowsMax` elements of the live tables that have dots of the pin's moment, which are valid during
   * the call. False at the end; then the list is complete. To be called between turns.
   */
  walk(
    rowsMax: number,
    visit: (set: SetEntry, row: number, dots: readonly Dot[]) => void,
  ): boolean {
    this.checkWhole();
    let left = rowsMax;
    while (left > 0 && !this.#isWalked) {
      const set = this.#batch[this.#index];
      if (set === undefined) {
        this.#nextBatch();
        continue;
      }
      this.#hash = set.table.walk(this.#hash, left, (row) => {
        left -= 1;
        const dots = this.#coveredDots(row);
        if (dots.length > 0) visit(set, row, dots);
      });
      left -= 1; // a set without rows takes time as well
      if (this.#hash < HASH_END) continue;
      this.#index += 1;
      this.#hash = 0;
    }
    return !this.#isWalked;
  }

  /** Visits up to `count` dots that were dropped before the walk came to them. False at the end. */
  walkDropped(
    count: number,
    visit: (set: SetEntry, member: Uint8Array, dot: Dot) => void,
  ): boolean {
    this.checkWhole();
    const end = Math.min(this.list.length, this.#listed + count);
    for (; this.#listed < end; this.#listed += 1) {
      const index = this.#listed;
      if (this.list.passedIn(index) === this.#walkNumber) continue;
      visit(this.list.setAt(index), this.list.memberAt(index), this.list.dotAt(index));
    }
    return this.#listed < this.list.length;
  }

  #nextBatch(): void {
    if (this.#nextPosition < 0) {
      this.#isWalked = true;
      return;
    }
    this.#batch = [];
    this.#indexInBatch.clear();
    this.#index = 0;
    this.#hash = 0;
    const next = this.state.sets.scan(this.#nextPosition, SETS_PER_BATCH, (set) => {
      this.#indexInBatch.set(set, this.#batch.push(set) - 1);
    });
    this.#nextPosition = next === 0 ? -1 : next;
  }

  /** A set that was created later has no dots of the pin's moment, so any result is fine. */
  #hasPassed(set: SetEntry, row: number): boolean {
    if (this.#isWalked) return true;
    const index = this.#indexInBatch.get(set);
    if (index === undefined) return this.#nextPosition < 0 || set.position < this.#nextPosition;
    if (index !== this.#index) return index < this.#index;
    return readWord(this.state.heap, row, ROW_HASH_HIGH) >>> 0 < this.#hash;
  }

  /** The list of an element with one dot is reused for the next one. */
  #coveredDots(row: number): readonly Dot[] {
    const page = this.state.heap.words[row >>> 16] as Int32Array;
    const start = wordOf(row);
    const actor = page[start + ROW_ACTOR] as number;
    const high = page[start + ROW_COUNTER_HIGH] as number;
    const low = page[start + ROW_COUNTER_LOW] as number;
    if (actor === NO_DOT) return NO_DOTS;
    if (actor === SEVERAL_DOTS)
      return this.state.several
        .read({ actor, high, low })
        .filter((dot) => this.covers(dot.actor, dot.counter));
    const counter = high * 2 ** 32 + (low >>> 0);
    if (!this.covers(actor, counter)) return NO_DOTS;
    this.#only[0].actor = (actor >>> 0) as Dot['actor'];
    this.#only[0].counter = counter;
    return this.#only;
  }
}

/**
 * Dots that were added since one moment, with their elements: what a pull must look at again before it is applied. A
 * broken one is not complete.
 */
export class AddedDots extends ListPin {
  #limit: VersionVector | undefined;

  dropped(): void {}

  added(set: SetEntry, row: number, dot: Dot): void {
    if (this.#limit !== undefined && !this.#limit.covers(dot)) return;
    this.list.push(set, this.state.heap, row, dot);
  }

  /** From now on only dots that this version covers matter. Between turns. */
  limitTo(version: VersionVector): void {
    const before = this.list;
    this.#limit = version;
    this.list = new ElementList();
    for (let index = 0; index < before.length; index += 1)
      if (version.covers(before.dotAt(index))) this.list.pushFrom(before, index);
    this.list.settle();
  }

  forEach(visit: (set: Uint8Array, member: Uint8Array, dot: Dot) => void): void {
    for (let index = 0; index < this.list.length; index += 1)
      visit(this.list.setAt(index).name, this.list.memberAt(index), this.list.dotAt(index));
  }
}
