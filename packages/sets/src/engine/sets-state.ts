// All sets of a node, in memory, and how to take back what one turn has changed.
//
// Pure: no clock, no promise, no I/O. Operations (operations.ts) change rows through `touch` and `write`. The
// undo log reaches back to the start of the turn: a turn ends with `settleTurn` once its record is in the log,
// or with `undoTurn` when the disk had no room. Rows of removed members stay until then, marked as absent, so
// that undoing never has to allocate.
//
// S4  Every live dot is covered by the version.
// S7  After `undoTurn` memory is what it was before the turn.
import { type ActorId, type Dot, VersionVector } from '@syncline/kernel';
import type { RibltKey } from '@syncline/riblt';
import type { ByteList } from '../byte-list.js';
import type { Digest } from '../keyspace.js';
import { ElementHeap, wordOf } from '../memory/element-heap.js';
import {
  type DotWords,
  NO_DOT,
  ROW_ACTOR,
  ROW_COUNTER_HIGH,
  ROW_COUNTER_LOW,
  ROW_TOUCH,
  SEVERAL_DOTS,
  SeveralDots,
} from '../memory/element-row.js';
import { OrderHash, type OrderKeys } from '../memory/order-hash.js';
import { OperationWriter } from '../operation/operation-writer.js';
import { AppliedVersion } from './applied-version.js';
import { type EngineLimits, engineLimits } from './engine-limits.js';
import { LiveDigest } from './live-digest.js';
import { Pins } from './open-pins.js';
import { type SetEntry, SetTable } from './set-table.js';

/** Of an entry of the undo log: set, row, the row's dots before, and where it was touched before that. */
const UNDO_WORDS = 6;
const UNDO_FIRST = 1_024;
/** After a larger turn the memory is given back. */
const UNDO_KEPT = 65_536;

export class SetsState {
  readonly heap = new ElementHeap();
  readonly several = new SeveralDots();
  readonly sets: SetTable;
  readonly version = new AppliedVersion();
  readonly digest: LiveDigest;
  readonly ribltKey: RibltKey;
  readonly pins: Pins;
  /** The operations of this turn, encoded. */
  readonly record = new OperationWriter();
  readonly #hash: OrderHash;
  readonly #position = new Uint32Array(2);
  readonly #words: DotWords = { actor: 0, high: 0, low: 0 };
  #undo = new Int32Array(UNDO_FIRST * UNDO_WORDS);
  #undoLength = 0;
  #operationStart = 0;
  /** Watchers that the turn had touched when the running operation began. */
  #touchedBefore = 0;
  /** Our own counter before the turn; -1 when the turn has not moved it. */
  #ownCounterBefore = -1;
  /** The counters of other actors that the turn has moved, before it. */
  readonly #countersBefore = new Map<ActorId, number>();
  /** What operations of this turn have named as dependencies. */
  readonly #dependencies: VersionVector[] = [];

  constructor(keys: OrderKeys, limits: EngineLimits = engineLimits) {
    this.#hash = new OrderHash(keys.order);
    this.sets = new SetTable(this.heap, this.#hash);
    this.ribltKey = keys.riblt;
    this.digest = new LiveDigest(keys.riblt);
    this.pins = new Pins(limits);
  }

  /** Memory of elements, sets and pins. */
  get usedBytes(): number {
    return this.heap.usedBytes + this.sets.overheadBytes + this.pins.bytes;
  }

  digestNow(): Digest {
    const { liveDots, xor } = this.digest;
    return { version: this.version.toVector(), liveDots, xor };
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

  // Rows.

  /** The row of a member, which may be marked as absent; 0 when there is none. */
  find(set: SetEntry, list: ByteList, index: number): number {
    this.#hash.write(list.view, list.start(index), list.end(index), this.#position);
    return set.table.find(this.#position, list, index);
  }

  findOrInsert(set: SetEntry, list: ByteList, index: number): number {
    const row = this.find(set, list, index);
    return row === 0 ? set.table.insert(this.#position, list, index) : row;
  }

  has(set: SetEntry, list: ByteList, index: number): boolean {
    const row = this.find(set, list, index);
    return row !== 0 && this.isPresent(row);
  }

  isPresent(row: number): boolean {
    const page = this.heap.words[row >>> 16] as Int32Array;
    return page[wordOf(row) + ROW_ACTOR] !== NO_DOT;
  }

  // Changes. The digest follows at the end of an operation, when it is known which dots have come of it.

  /** Elements that the running operation has touched stand in the undo log from here on. */
  get operationStart(): number {
    return this.#operationStart;
  }

  get undoLength(): number {
    return this.#undoLength;
  }

  startOperation(): void {
    this.#operationStart = this.#undoLength;
    this.#touchedBefore = this.sets.touchedCount;
  }

  /** To be called before a row changes. True when the running operation has touched it before. */
  touch(set: SetEntry, row: number, page: Int32Array, start: number): boolean {
    const before = page[start + ROW_TOUCH] as number;
    if (before >= this.#operationStart && this.#isEntryOf(before, row)) return true;
    const place = this.#undoLength;
    if ((place + 1) * UNDO_WORDS > this.#undo.length) this.#growUndo();
    const undo = this.#undo;
    const at = place * UNDO_WORDS;
    undo[at] = set.slot;
    undo[at + 1] = row;
    undo[at + 2] = page[start + ROW_ACTOR] as number;
    undo[at + 3] = page[start + ROW_COUNTER_HIGH] as number;
    undo[at + 4] = page[start + ROW_COUNTER_LOW] as number;
    undo[at + 5] = before;
    page[start + ROW_TOUCH] = place;
    this.#undoLength = place + 1;
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

  /** The element that was touched at this place of the undo log. */
  touchedSet(place: number): SetEntry {
    return this.sets.at(this.#undo[place * UNDO_WORDS] as number);
  }

  touchedSlot(place: number): number {
    return this.#undo[place * UNDO_WORDS] as number;
  }

  touchedRow(place: number): number {
    return this.#undo[place * UNDO_WORDS + 1] as number;
  }

  /** Its dots before. */
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
  }

  /** Our own counter, which moves with every operation. */
  advanceOwn(counter: number): void {
    if (this.#ownCounterBefore < 0) this.#ownCounterBefore = this.version.ownCounter;
    this.version.advanceOwn(counter);
  }

  takeDependencies(): Uint8Array | undefined {
    const dependencies = this.version.takeDependencies();
    if (dependencies === undefined) return undefined;
    this.#dependencies.push(dependencies);
    return dependencies.toBytes();
  }

  /** Takes back what the running operation has changed; neither digest nor version know of it yet. */
  abandonOperation(): void {
    this.#revertTo(this.#operationStart);
    this.sets.untouch(this.#touchedBefore);
  }

  // The end of a turn.

  /** The turn's record is in the log: rows of removed members are freed. */
  settleTurn(): void {
    for (let place = 0; place < this.#undoLength; place += 1) {
      const at = place * UNDO_WORDS;
      this.several.release(this.#undo[at + 2] as number, this.#undo[at + 4] as number);
      const row = this.#undo[at + 1] as number;
      const page = this.heap.words[row >>> 16] as Int32Array;
      const start = wordOf(row);
      // A row that was touched several times is freed at the last place, when nothing names it any more.
      if (page[start + ROW_ACTOR] === NO_DOT && page[start + ROW_TOUCH] === place)
        this.#free(this.touchedSet(place), row);
    }
    this.#clearTurn();
    this.sets.turnSettled();
    this.pins.turnSettled();
  }

  /** The turn's record could not be stored: everything since the last settled turn is taken back. */
  undoTurn(): void {
    for (let place = this.#undoLength - 1; place >= 0; place -= 1) {
      const row = this.touchedRow(place);
      const now = this.#dotsOf(row);
      this.digest.dropAll(now);
      this.readDotsBefore(place, this.#words);
      this.digest.addAll(this.several.read(this.#words));
      this.#revert(place);
    }
    for (const [actor, counter] of this.#countersBefore) this.version.restore(actor, counter);
    if (this.#ownCounterBefore >= 0) this.version.restore(this.version.own, this.#ownCounterBefore);
    for (const dependencies of this.#dependencies) this.version.giveBackDependencies(dependencies);
    this.record.truncate(0);
    this.#undoLength = 0;
    this.#clearTurn();
    this.sets.turnUndone();
    this.pins.turnUndone();
  }

  /** Adds an element as a checkpoint has it. Without `isNew` it may be there already, with other dots. */
  load(set: SetEntry, list: ByteList, index: number, words: DotWords, isNew: boolean): void {
    if (isNew) {
      this.#hash.write(list.view, list.start(index), list.end(index), this.#position);
      const added = set.table.insert(this.#position, list, index);
      if (words.actor === SEVERAL_DOTS) this.digest.addAll(this.several.read(words));
      else this.digest.add(words.actor, words.high, words.low);
      this.write(set, added, words);
      return;
    }
    const row = this.findOrInsert(set, list, index);
    const before = this.#dotsOf(row);
    const added = this.several.read(words);
    this.digest.addAll(added);
    if (before.length > 0) {
      this.several.release(words.actor, words.low);
      this.several.write([...before, ...added], words);
    }
    this.write(set, row, words);
  }

  #dotsOf(row: number): readonly Dot[] {
    const page = this.heap.words[row >>> 16] as Int32Array;
    const start = wordOf(row);
    this.#words.actor = page[start + ROW_ACTOR] as number;
    this.#words.high = page[start + ROW_COUNTER_HIGH] as number;
    this.#words.low = page[start + ROW_COUNTER_LOW] as number;
    return this.several.read(this.#words);
  }

  #isEntryOf(place: number, row: number): boolean {
    return place < this.#undoLength && this.#undo[place * UNDO_WORDS + 1] === row;
  }

  #revertTo(length: number): void {
    for (let place = this.#undoLength - 1; place >= length; place -= 1) this.#revert(place);
    this.#undoLength = length;
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
    set.table.delete(row);
    this.sets.forgetIfUnused(set);
  }

  #clearTurn(): void {
    this.#undoLength = 0;
    this.#operationStart = 0;
    this.#ownCounterBefore = -1;
    this.#countersBefore.clear();
    this.#dependencies.length = 0;
    if (this.#undo.length > UNDO_KEPT * UNDO_WORDS)
      this.#undo = new Int32Array(UNDO_FIRST * UNDO_WORDS);
  }

  #growUndo(): void {
    const larger = new Int32Array(this.#undo.length * 2);
    larger.set(this.#undo);
    this.#undo = larger;
  }
}
