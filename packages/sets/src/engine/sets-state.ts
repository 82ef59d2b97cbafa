// All sets of a node, in memory, and how to undo what one turn has changed.
//
// Pure: no clock, no promise, no I/O. Operations, made here or elsewhere, change rows through `touch` and `write`.
// The undo log reaches back to the start of the turn: a turn ends with `settleTurn` once its record is in the log, or
// with `undoTurn` when the disk is full. Rows of removed members stay until then, marked as absent, so that undoing
// never has to allocate.
//
// S4  Every live dot is covered by the version.
// S7  After `undoTurn` memory is what it was before the turn.
import { type ActorId, VersionVector } from '@syncline/kernel';
import type { RibltKey } from '@syncline/riblt';
import { type ByteList, doubled } from '../byte-list.js';
import type { Digest } from '../keyspace.js';
import { type EngineLimits, engineLimits } from '../limits.js';
import { ElementHeap, wordOf } from '../memory/element-heap.js';
import {
  type DotWords,
  isMemberEqual,
  NO_DOT,
  ROW_ACTOR,
  ROW_COUNTER_HIGH,
  ROW_COUNTER_LOW,
  ROW_MEMBER_BYTES,
  ROW_TOUCH,
  readDots,
  readWord,
  SEVERAL_DOTS,
  SeveralDots,
} from '../memory/element-row.js';
import { HashesAhead, OrderHash, type OrderKeys } from '../memory/order-hash.js';
import { OperationWriter } from '../operation/operation-writer.js';
import { AppliedVersion } from './applied-version.js';
import { LiveDigest } from './live-digest.js';
import { Pins } from './open-pins.js';
import { type SetEntry, SetTable } from './set-table.js';

/** The words of an entry of the undo log: set, row, the row's dots before, and where it was touched before that. */
const UNDO_WORDS = 6;
const UNDO_FIRST = 1_024;
/** After a larger turn the memory is released. */
const UNDO_KEPT = 65_536;
const LARGE_SET_MEMBERS = 16_384;

export class SetsState {
  readonly heap = new ElementHeap();
  readonly several = new SeveralDots();
  readonly sets: SetTable;
  readonly version = new AppliedVersion();
  readonly ribltKey: RibltKey;
  readonly pins: Pins;
  /** The operations of this turn, encoded. */
  readonly record = new OperationWriter();
  /** The digest of the dots before `#digestedLength`; see `digest`. */
  readonly #digest: LiveDigest;
  #digestedLength = 0;
  readonly #hash: OrderHash;
  readonly #position = new Uint32Array(2);
  /** The row that `find` returned last, 0 once it is freed, and the slot of its set. */
  #lastRow = 0;
  #lastSlot = 0;
  readonly #ahead: HashesAhead;
  readonly #fetched = new Int32Array(1);
  readonly #words: DotWords = { actor: 0, high: 0, low: 0 };
  #undo = new Int32Array(UNDO_FIRST * UNDO_WORDS);
  undoLength = 0;
  /** Elements touched by the running operation are in the undo log from here on. */
  operationStart = 0;
  /** The version covers the changes before this position of the undo log. */
  #coveredLength = 0;
  /** Watchers that the turn had touched when the running operation began. */
  #touchedBefore = 0;
  /** Our own counter before the turn; -1 when the turn has not moved it. */
  #ownCounterBefore = -1;
  /** The counters of other actors that the turn has advanced, as they were before it. */
  readonly #countersBefore = new Map<ActorId, number>();
  /** What operations of this turn have named as dependencies. */
  readonly #dependencies: VersionVector[] = [];
  #heldDigest: Digest | undefined;

  constructor(keys: OrderKeys, limits: EngineLimits = engineLimits) {
    this.#hash = new OrderHash(keys.order);
    this.#ahead = new HashesAhead(this.#hash);
    this.sets = new SetTable(this.heap, this.#hash);
    this.ribltKey = keys.riblt;
    this.#digest = new LiveDigest(keys.riblt);
    this.pins = new Pins(limits);
  }

  get usedBytes(): number {
    return this.heap.usedBytes + this.sets.overheadBytes + this.pins.bytes;
  }

  /** The digest of what the version covers. */
  get digest(): LiveDigest {
    this.#digestUpTo(this.#coveredLength);
    return this.#digest;
  }

  /** While memory changes in parts that must not be visible: the digest before them. */
  digestNow(): Digest {
    if (this.#heldDigest !== undefined) return this.#heldDigest;
    const { liveDots, xor } = this.digest;
    return { version: this.version.toVector(), liveDots, xor };
  }

  /** Keeps showing the current digest until the returned function is called. */
  holdDigest(): () => void {
    this.#heldDigest = this.digestNow();
    return () => {
      this.#heldDigest = undefined;
    };
  }

  /** What settled turns have applied: all of it is in the log. */
  settledVersion(): VersionVector {
    const version = this.version.toVector();
    const own = this.#ownCounterBefore < 0 ? undefined : this.version.own;
    if (own === undefined && this.#countersBefore.size === 0) return version;
    const before = (actor: ActorId) =>
      actor === own ? this.#ownCounterBefore : this.#countersBefore.get(actor);
    const dots = version.entries().map(({ actor, counter }) => ({
      actor,
      counter: before(actor) ?? counter,
    }));
    return VersionVector.of(...dots.filter(({ counter }) => counter > 0));
  }

  /** The row of a member, which may be marked as absent; 0 when there is none. */
  find(set: SetEntry, list: ByteList, index: number): number {
    if (!this.#ahead.take(list, index, this.#position)) {
      if (this.#isLast(set, list, index)) return this.#lastRow;
      this.#hash.write(list.view, list.start(index), list.end(index), this.#position);
    }
    this.#lastSlot = set.slot;
    this.#lastRow = set.table.find(this.#position, list, index);
    return this.#lastRow;
  }

  /** Whether this is the member of the last lookup: the same one is often added repeatedly. */
  #isLast(set: SetEntry, list: ByteList, index: number): boolean {
    const row = this.#lastRow;
    if (row === 0 || set.slot !== this.#lastSlot) return false;
    const words = this.heap.words[row >>> 16] as Int32Array;
    const at = wordOf(row);
    return (
      words[at + ROW_MEMBER_BYTES] === list.sizeOf(index) &&
      isMemberEqual(words, at, list.view, list.start(index))
    );
  }

  findOrInsert(set: SetEntry, list: ByteList, index: number): number {
    const row = this.find(set, list, index);
    return row === 0 ? set.table.insert(this.#position, list, index) : row;
  }

  /**
   * Loads what `find` will read for these members into the processor's cache, see `MemberTable.fetch`, and keeps
   * their hashes for it until `endFetch`. Members of a small set are in the cache anyway.
   */
  fetch(set: SetEntry, list: ByteList, from = 0): void {
    if (set.table.size < LARGE_SET_MEMBERS) return;
    const count = this.#ahead.fill(list, from, this.#position);
    this.#fetched[0] = set.table.fetch(this.#ahead.highs, count); // the compiler may drop reads whose result is unused
  }

  endFetch(): void {
    this.#ahead.clear();
  }

  has(set: SetEntry, list: ByteList, index: number): boolean {
    const row = this.find(set, list, index);
    return row !== 0 && this.isPresent(row);
  }

  isPresent(row: number): boolean {
    const page = this.heap.words[row >>> 16] as Int32Array;
    return page[wordOf(row) + ROW_ACTOR] !== NO_DOT;
  }

  // Changes. The digest follows when it is read and at the end of the turn: most dots that a turn both adds and drops
  // never reach it.

  startOperation(): void {
    this.operationStart = this.undoLength;
    this.#touchedBefore = this.sets.touchedCount;
  }

  /** Called before a row changes. Returns true if the running operation has touched it before. */
  touch(set: SetEntry, row: number, page: Int32Array, start: number): boolean {
    const before = page[start + ROW_TOUCH] as number;
    if (before >= this.operationStart && this.#isEntryOf(before, row)) return true;
    const place = this.undoLength;
    if ((place + 1) * UNDO_WORDS > this.#undo.length) this.#undo = doubled(this.#undo);
    const undo = this.#undo;
    const at = place * UNDO_WORDS;
    undo[at] = set.slot;
    undo[at + 1] = row;
    undo[at + 2] = page[start + ROW_ACTOR] as number;
    undo[at + 3] = page[start + ROW_COUNTER_HIGH] as number;
    undo[at + 4] = page[start + ROW_COUNTER_LOW] as number;
    undo[at + 5] = before;
    page[start + ROW_TOUCH] = place;
    this.undoLength = place + 1;
    if (page[start + ROW_ACTOR] === SEVERAL_DOTS)
      this.several.hold(SEVERAL_DOTS, page[start + ROW_COUNTER_LOW] as number);
    return false;
  }

  /** Replaces the dots of a row that was touched. Takes over the caller's hold on a list of several dots. */
  write(set: SetEntry, row: number, words: DotWords): void {
    const page = this.heap.words[row >>> 16] as Int32Array;
    const start = wordOf(row);
    const before = page[start + ROW_ACTOR] as number;
    if (before === SEVERAL_DOTS)
      this.several.release(before, page[start + ROW_COUNTER_LOW] as number);
    page[start + ROW_ACTOR] = words.actor;
    page[start + ROW_COUNTER_HIGH] = words.high;
    page[start + ROW_COUNTER_LOW] = words.low;
    if (before === NO_DOT && words.actor !== NO_DOT) this.sets.memberAppeared(set);
    else if (before !== NO_DOT && words.actor === NO_DOT) this.sets.memberVanished(set);
  }

  /** The element that was touched at this position of the undo log. */
  touchedSet(place: number): SetEntry {
    return this.sets.at(this.#undo[place * UNDO_WORDS] as number);
  }

  touchedRow(place: number): number {
    return this.#undo[place * UNDO_WORDS + 1] as number;
  }

  readDotsBefore(place: number, into: DotWords): void {
    const at = place * UNDO_WORDS;
    into.actor = this.#undo[at + 2] as number;
    into.high = this.#undo[at + 3] as number;
    into.low = this.#undo[at + 4] as number;
  }

  advance(actor: ActorId, counter: number): void {
    const before = this.version.counterOf(actor);
    if (!this.#countersBefore.has(actor)) this.#countersBefore.set(actor, before);
    this.version.advance(actor, counter);
    this.#coveredLength = this.undoLength;
  }

  /** Our own counter, which advances with every operation. */
  advanceOwn(counter: number): void {
    if (this.#ownCounterBefore < 0) this.#ownCounterBefore = this.version.ownCounter;
    this.version.advanceOwn(counter);
    this.#coveredLength = this.undoLength;
  }

  takeDependencies(): Uint8Array | undefined {
    const dependencies = this.version.takeDependencies();
    if (dependencies === undefined) return undefined;
    this.#dependencies.push(dependencies);
    return dependencies.toBytes();
  }

  /** Undoes what the running operation has changed; neither digest nor version include it yet. */
  abandonOperation(): void {
    for (let place = this.undoLength - 1; place >= this.operationStart; place -= 1)
      this.#revert(place);
    this.undoLength = this.operationStart;
    this.sets.untouch(this.#touchedBefore);
  }

  /** The turn's record is in the log: rows of removed members are freed. */
  settleTurn(): void {
    this.#digestUpTo(this.undoLength);
    for (let place = 0; place < this.undoLength; place += 1) {
      const at = place * UNDO_WORDS;
      this.several.release(this.#undo[at + 2] as number, this.#undo[at + 4] as number);
      const row = this.#undo[at + 1] as number;
      const page = this.heap.words[row >>> 16] as Int32Array;
      const start = wordOf(row);
      // A row that was touched several times is freed at its last entry, when nothing refers to it any more.
      if (page[start + ROW_ACTOR] === NO_DOT && page[start + ROW_TOUCH] === place)
        this.#free(this.touchedSet(place), row);
    }
    this.#clearTurn();
    this.sets.turnSettled();
    this.pins.turnSettled();
  }

  /** The turn's record could not be stored: everything since the last settled turn is undone. */
  undoTurn(): void {
    for (let place = this.undoLength - 1; place >= 0; place -= 1) {
      if (place < this.#digestedLength) {
        this.#readDots(this.touchedRow(place), this.#words);
        this.#digestDots(this.#words, 'drop');
        this.readDotsBefore(place, this.#words);
        this.#digestDots(this.#words, 'add');
      }
      this.#revert(place);
    }
    for (const [actor, counter] of this.#countersBefore) this.version.restore(actor, counter);
    if (this.#ownCounterBefore >= 0) this.version.restore(this.version.own, this.#ownCounterBefore);
    for (const dependencies of this.#dependencies) this.version.revertDependencies(dependencies);
    this.record.clear();
    this.#clearTurn();
    this.sets.untouch(0);
    this.pins.turnUndone();
  }

  /** Adds an element from a checkpoint. Without `isNew` it may already exist, with other dots. */
  load(set: SetEntry, list: ByteList, index: number, words: DotWords, isNew: boolean): void {
    if (isNew) {
      this.#hash.write(list.view, list.start(index), list.end(index), this.#position);
      const added = set.table.insert(this.#position, list, index);
      this.#digestDots(words, 'add');
      this.write(set, added, words);
      return;
    }
    const row = this.findOrInsert(set, list, index);
    this.#readDots(row, this.#words);
    const before = this.several.read(this.#words);
    const added = this.several.read(words);
    this.#digestDots(words, 'add');
    if (before.length > 0) {
      this.several.release(words.actor, words.low);
      this.several.write([...before, ...added], words);
    }
    this.write(set, row, words);
  }

  #readDots(row: number, into: DotWords): void {
    readDots(this.heap.words[row >>> 16] as Int32Array, wordOf(row), into);
  }

  #isEntryOf(place: number, row: number): boolean {
    return place < this.undoLength && this.#undo[place * UNDO_WORDS + 1] === row;
  }

  /** For each row, only the dots before the first of these changes and after the last one are hashed. */
  #digestUpTo(end: number): void {
    const begin = this.#digestedLength;
    const words = this.#words;
    for (let place = begin; place < end; place += 1) {
      const row = this.touchedRow(place);
      const before = this.#undo[place * UNDO_WORDS + 5] as number;
      if (before < begin || before >= place || !this.#isEntryOf(before, row)) {
        this.readDotsBefore(place, words);
        this.#digestDots(words, 'drop');
      }
      this.#readDots(row, words);
      let last = readWord(this.heap, row, ROW_TOUCH);
      for (; last >= end; last = this.#undo[last * UNDO_WORDS + 5] as number)
        this.readDotsBefore(last, words); // the running operation has changed it again
      if (last === place) this.#digestDots(words, 'add');
    }
    this.#digestedLength = Math.max(begin, end);
  }

  #digestDots(words: DotWords, change: 'add' | 'drop'): void {
    const { actor, high, low } = words;
    if (actor === SEVERAL_DOTS)
      for (const dot of this.several.read(words))
        this.#digest[change](dot.actor, Math.floor(dot.counter / 2 ** 32), dot.counter | 0);
    else if (actor !== NO_DOT) this.#digest[change](actor, high, low);
  }

  /** The row takes over the undo log's hold on several dots. One that did not exist before the turn is freed. */
  #revert(place: number): void {
    const set = this.touchedSet(place);
    const row = this.touchedRow(place);
    this.readDotsBefore(place, this.#words);
    this.write(set, row, this.#words);
    const page = this.heap.words[row >>> 16] as Int32Array;
    const touchedBefore = this.#undo[place * UNDO_WORDS + 5] as number;
    page[wordOf(row) + ROW_TOUCH] = touchedBefore;
    const isFirstTouch = touchedBefore >= place || !this.#isEntryOf(touchedBefore, row);
    if (isFirstTouch && this.#words.actor === NO_DOT) this.#free(set, row);
  }

  #free(set: SetEntry, row: number): void {
    if (row === this.#lastRow) this.#lastRow = 0;
    set.table.delete(row);
    this.sets.forgetIfUnused(set);
  }

  #clearTurn(): void {
    this.undoLength = 0;
    this.operationStart = 0;
    this.#coveredLength = 0;
    this.#digestedLength = 0;
    this.#ownCounterBefore = -1;
    this.#countersBefore.clear();
    this.#dependencies.length = 0;
    if (this.#undo.length > UNDO_KEPT * UNDO_WORDS)
      this.#undo = new Int32Array(UNDO_FIRST * UNDO_WORDS);
  }
}
