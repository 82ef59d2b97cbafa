// Pins: the state at one moment without a copy.
//
// A pin is the version of that moment and a list of what was dropped since and belongs to it. To read it: walk the
// live tables, skip dots that the version does not cover, then take the list. While no pin is open writers pay
// nothing; while one is, one coverage check per dropped dot. Pins are opened and walked between turns only, when
// everything in memory is in the log, so undoing a turn just takes back the entries of that turn.
//
//   MemberPin   some sets, for commands: each element once; also answers `has` and draws at random
//   DotPin      all sets, for checkpoints and repairs: each dot once per walk
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
import type { OpenPin } from './open-pins.js';
import type { SetEntry } from './set-table.js';
import type { SetsState } from './sets-state.js';

export abstract class Pin implements OpenPin {
  readonly version: VersionVector;
  readonly #state: SetsState;
  readonly #counters = new Map<number, number>();
  #isBroken = false;

  constructor(state: SetsState) {
    this.#state = state;
    this.version = state.version.toVector();
    for (const { actor, counter } of this.version.entries()) this.#counters.set(actor, counter);
    state.pins.add(this);
  }

  protected get state(): SetsState {
    return this.#state;
  }

  get isBroken(): boolean {
    return this.#isBroken;
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
  /** Dots of an element were dropped. */
  abstract dropped(set: SetEntry, row: number, before: readonly Dot[], after: readonly Dot[]): void;
  abstract turnSettled(): void;
  abstract turnUndone(): void;
  abstract free(): void;

  /** Frees its list; its reads throw from now on. */
  break(): void {
    this.#isBroken = true;
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
    if (!this.#isBroken) return;
    throw new SynclineError(
      'overloaded',
      'the sets changed too much while they were read, try again or read fewer at once',
      { details: { limit: 'pinEntriesMax' } },
    );
  }
}

/** Words of an entry: where its set and its member are, and its dot. */
const ENTRY_WORDS = 6;

/** Elements or dots that were dropped, with copies of their members. */
export class DroppedList {
  readonly #sets: SetEntry[] = [];
  readonly #setNumbers = new Map<SetEntry, number>();
  #words = new Int32Array(0);
  #bytes = new Uint8Array(0);
  #bytesUsed = 0;
  #length = 0;
  #settledLength = 0;
  #settledBytes = 0;

  get length(): number {
    return this.#length;
  }

  get memoryBytes(): number {
    return this.#words.byteLength + this.#bytes.length;
  }

  push(set: SetEntry, buffer: Uint8Array, start: number, end: number, dot: Dot): void {
    if ((this.#length + 1) * ENTRY_WORDS > this.#words.length)
      this.#words = grown(
        this.#words,
        new Int32Array(Math.max(16 * ENTRY_WORDS, this.#words.length * 2)),
      );
    const bytesNeeded = this.#bytesUsed + end - start;
    if (bytesNeeded > this.#bytes.length)
      this.#bytes = grown(
        this.#bytes,
        new Uint8Array(Math.max(bytesNeeded, this.#bytes.length * 2)),
      );
    let setNumber = this.#setNumbers.get(set);
    if (setNumber === undefined) {
      setNumber = this.#sets.push(set) - 1;
      this.#setNumbers.set(set, setNumber);
    }
    this.#bytes.set(buffer.subarray(start, end), this.#bytesUsed);
    const at = this.#length * ENTRY_WORDS;
    this.#words[at] = setNumber;
    this.#words[at + 1] = this.#bytesUsed;
    this.#words[at + 2] = bytesNeeded;
    this.#words[at + 3] = dot.actor;
    this.#words[at + 4] = Math.floor(dot.counter / 2 ** 32);
    this.#words[at + 5] = dot.counter | 0;
    this.#bytesUsed = bytesNeeded;
    this.#length += 1;
  }

  settle(): void {
    this.#settledLength = this.#length;
    this.#settledBytes = this.#bytesUsed;
  }

  undo(): void {
    this.#length = this.#settledLength;
    this.#bytesUsed = this.#settledBytes;
  }

  setAt(index: number): SetEntry {
    return this.#sets[this.#words[index * ENTRY_WORDS] as number] as SetEntry;
  }

  /** A view of the member, valid until the list changes. */
  memberAt(index: number): Uint8Array {
    const at = index * ENTRY_WORDS;
    return this.#bytes.subarray(this.#words[at + 1], this.#words[at + 2]);
  }

  dotAt(index: number): Dot {
    const at = index * ENTRY_WORDS;
    const actor = ((this.#words[at + 3] as number) >>> 0) as Dot['actor'];
    const low = (this.#words[at + 5] as number) >>> 0;
    return { actor, counter: (this.#words[at + 4] as number) * 2 ** 32 + low };
  }
}

/** Dots of one element. `member` gives a view that is valid during the call; most walks do not need it. */
export type VisitDots = (dots: readonly Dot[], set: Uint8Array, member: () => Uint8Array) => void;

/** Sets that are taken from the table at once; each costs a reference. */
const SETS_PER_BATCH = 256;
const HASH_END = 2 ** 32;

/** Every dot of all sets. What is walked once needs no entry for elements that the walk has passed. */
export class DotPin extends Pin {
  readonly #isWalkedAgain: boolean;
  #list = new DroppedList();
  /** Entries of elements that this walk had passed. */
  readonly #passed = new Set<number>();
  /** Sets that are being walked, by the position of their names, and where the walk stands. */
  #batch: SetEntry[] = [];
  readonly #indexInBatch = new Map<SetEntry, number>();
  #index = 0;
  #hash = 0;
  /** Sets before this position were taken into a batch. Beyond all of them at the end. */
  #nextPosition = 0;
  #isWalked = false;
  #listed = 0;

  constructor(state: SetsState, walks: 'once' | 'again' = 'once') {
    super(state);
    this.#isWalkedAgain = walks === 'again';
  }

  get entries(): number {
    return this.#list.length;
  }

  get bytes(): number {
    return this.#list.memoryBytes;
  }

  dropped(set: SetEntry, row: number, before: readonly Dot[], after: readonly Dot[]): void {
    const hasPassed = this.#hasPassed(set, row);
    if (hasPassed && !this.#isWalkedAgain) return;
    const { heap } = this.state;
    for (const dot of before) {
      if (!this.covers(dot.actor, dot.counter)) continue;
      if (after.some(({ actor, counter }) => actor === dot.actor && counter === dot.counter))
        continue;
      if (hasPassed) this.#passed.add(this.#list.length);
      else this.#passed.delete(this.#list.length); // left over from a turn that was undone
      this.#list.push(set, memberBuffer(heap, row), memberStart(row), memberEnd(heap, row), dot);
    }
  }

  /** Starts another walk. */
  rewind(): void {
    assert(this.#isWalkedAgain, 'only a pin that keeps all entries is walked again');
    this.#passed.clear();
    this.#batch = [];
    this.#indexInBatch.clear();
    this.#index = 0;
    this.#hash = 0;
    this.#nextPosition = 0;
    this.#isWalked = false;
    this.#listed = 0;
  }

  turnSettled(): void {
    this.#list.settle();
  }

  turnUndone(): void {
    this.#list.undo();
  }

  free(): void {
    this.#list = new DroppedList();
    this.#passed.clear();
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
   * Visits about `rowsMax` elements of the live tables that have dots of the pin's moment. False at the end; then
   * the list is complete. To be called between turns.
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
      left -= 1; // a set without rows takes time, too
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
    const end = Math.min(this.#list.length, this.#listed + count);
    for (; this.#listed < end; this.#listed += 1) {
      const index = this.#listed;
      if (this.#passed.has(index)) continue;
      visit(this.#list.setAt(index), this.#list.memberAt(index), this.#list.dotAt(index));
    }
    return this.#listed < this.#list.length;
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

  /** A set that was made since has no dots of the pin's moment, so it does not matter what is said of it. */
  #hasPassed(set: SetEntry, row: number): boolean {
    if (this.#isWalked) return true;
    const index = this.#indexInBatch.get(set);
    if (index === undefined) return this.#nextPosition < 0 || set.position < this.#nextPosition;
    if (index !== this.#index) return index < this.#index;
    return readWord(this.state.heap, row, ROW_HASH_HIGH) >>> 0 < this.#hash;
  }

  #coveredDots(row: number): readonly Dot[] {
    const page = this.state.heap.words[row >>> 16] as Int32Array;
    const start = wordOf(row);
    const dots = this.state.several.read({
      actor: page[start + ROW_ACTOR] as number,
      high: page[start + ROW_COUNTER_HIGH] as number,
      low: page[start + ROW_COUNTER_LOW] as number,
    });
    return dots.every((dot) => this.covers(dot.actor, dot.counter))
      ? dots
      : dots.filter((dot) => this.covers(dot.actor, dot.counter));
  }
}

function grown<List extends Int32Array | Uint8Array>(from: List, to: List): List {
  to.set(from);
  return to;
}
