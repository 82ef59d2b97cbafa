// The head: what is applied and not folded, cut into generations. The newest one takes the changes; those
// before it are closed and wait to be folded, oldest first.
//
// A row leads to its newest entry by its head word, and an entry to the one that the row had before. So
// commits can be taken back even when they lie in several generations: those behind the first of them are
// dissolved, and that one becomes the newest again. Entries go with the changes that made them, of commits as
// of operations: an entry that no commit accounts for would never be folded, and fill the head for ever.
import { assert } from '@syncline/kernel';
import { setsLimits } from '../limits.js';
import type { ElementHeap } from '../memory/element-heap.js';
import { ROW_ACTOR, ROW_COUNTER_LOW, ROW_HEAD } from '../memory/row-layout.js';
import {
  ENTRY_BITS,
  GENERATIONS_MAX,
  Generation,
  type GenerationEnd,
  type GenerationLength,
} from './generation.js';
import type { MemorySet } from './memory-set.js';
import type { SeveralDots } from './row-dots.js';
import type { SetRegistry } from './set-registry.js';

const GENERATION_BYTES_MAX = setsLimits.foldBatchBytesMax.value;
/** With more that wait, only entries close one: long names must not use up the numbers of generations. */
const SMALL_GENERATIONS_MAX = GENERATIONS_MAX / 2;

export interface HeadDeps {
  readonly heap: ElementHeap;
  readonly registry: SetRegistry;
  readonly several: SeveralDots;
}

export interface HeadOptions {
  /** The last commit that is folded. */
  readonly foldedNumber: number;
  /** Entries at which a generation is closed at the end of a commit. */
  readonly generationEntriesMax: number;
}

/** A row that no entry names any more: storage and memory agree on it. */
export type RowIsClean = (set: MemorySet, row: number) => void;

export class Head {
  readonly #deps: HeadDeps;
  readonly #generationEntriesMax: number;
  readonly #closed: Generation[] = [];
  #newest: Generation;
  #entries = 0;
  #closedBytes = 0;
  // How far the newest generation was when the running operation began.
  #operationEntries = 0;
  #operationSets = 0;

  constructor(deps: HeadDeps, options: HeadOptions) {
    this.#deps = deps;
    this.#generationEntriesMax = options.generationEntriesMax;
    this.#newest = new Generation(1, options.foldedNumber + 1);
  }

  get entries(): number {
    return this.#entries;
  }

  get bytes(): number {
    return this.#closedBytes + this.#newest.bytes;
  }

  get newest(): Generation {
    return this.#newest;
  }

  /** The closed generation that is to be folded next. */
  get oldestClosed(): Generation | undefined {
    return this.#closed[0];
  }

  get isFull(): boolean {
    const { length, foldBytes } = this.#newest;
    if (length >= this.#generationEntriesMax) return true;
    return foldBytes >= GENERATION_BYTES_MAX && this.#closed.length < SMALL_GENERATIONS_MAX;
  }

  startOperation(): void {
    this.#operationEntries = this.#newest.length;
    this.#operationSets = this.#newest.sets.length;
  }

  /** After the rows have got back the dots that they had before the running operation. */
  abandonOperation(rowIsClean: RowIsClean): void {
    const start = { entries: this.#operationEntries, sets: this.#operationSets };
    this.#dissolve(this.#newest, start, rowIsClean);
  }

  /** To be called before the dots of a row change. */
  note(set: MemorySet, row: number, page: Int32Array, start: number): void {
    const newest = this.#newest;
    const headWord = page[start + ROW_HEAD] as number;
    if (headWord >>> ENTRY_BITS === newest.id) return;
    if (newest.serial !== set.listedIn) newest.addSet(set);
    const place = newest.length;
    page[start + ROW_HEAD] = newest.push(set, row, page, start);
    this.#deps.several.hold(
      page[start + ROW_ACTOR] as number,
      page[start + ROW_COUNTER_LOW] as number,
    );
    set.headEntries += 1;
    this.#entries += 1;
    if (headWord !== 0) this.#leave(headWord, place, page, start);
  }

  /** The commit that follows on the last one ends here. */
  closeRecord(bytes: number): void {
    this.#newest.closeRecord(bytes);
  }

  /** Closes the newest generation. Nothing may be applied that is not in a commit. */
  close(end: GenerationEnd): void {
    const closed = this.#newest;
    assert(end.fold.number === closed.lastNumber, 'a generation ends where a commit ends');
    assert(this.#closed.length < GENERATIONS_MAX - 1, 'a number for the next generation is free');
    closed.end = end;
    closed.cardinalities = closed.sets.map(({ cardinality }) => cardinality);
    this.#closed.push(closed);
    this.#closedBytes += closed.bytes;
    this.#newest = new Generation(closed.serial + 1, closed.lastNumber + 1);
  }

  /** The oldest closed generation is folded. */
  folded(generation: Generation, rowIsClean: RowIsClean): void {
    assert(generation === this.#closed[0], 'generations are folded in order');
    this.#closed.shift();
    this.#closedBytes -= generation.bytes;
    for (let place = 0; place < generation.length; place += 1) {
      const row = generation.row(place);
      const page = this.#page(row);
      const start = row & 0xffff;
      const isNewest = page[start + ROW_HEAD] === ((generation.id << ENTRY_BITS) | place);
      if (isNewest) page[start + ROW_HEAD] = 0;
      const set = this.#forget(generation, place);
      if (isNewest) rowIsClean(set, row);
    }
  }

  /**
   * Every row that is not folded, once. Others may fold between two steps: what is folded then may be left
   * out. Whoever changes rows meanwhile spoils it.
   */
  *rows(): Generator<{ readonly set: MemorySet; readonly row: number }> {
    for (const generation of [...this.#closed, this.#newest]) {
      const isUnfolded = () => generation.serial >= (this.#closed[0] ?? this.#newest).serial;
      for (let place = 0; isUnfolded() && place < generation.length; place += 1) {
        const row = generation.row(place);
        const headWord = this.#page(row)[(row & 0xffff) + ROW_HEAD];
        if (headWord !== ((generation.id << ENTRY_BITS) | place)) continue; // a later one has it
        yield { set: this.#deps.registry.at(generation.slot(place)), row };
      }
    }
  }

  /** After the rows have got back the dots that they had before this commit. */
  undoFrom(number: number, rowIsClean: RowIsClean): void {
    for (;;) {
      const previous = this.#closed.at(-1);
      if (previous === undefined || previous.lastNumber < number) break;
      this.#dissolve(this.#newest, { entries: 0, sets: 0 }, rowIsClean);
      this.#closed.pop();
      this.#closedBytes -= previous.bytes;
      this.#newest = previous;
    }
    this.#dissolve(this.#newest, this.#newest.reopen(number), rowIsClean);
    const hasCommits = this.#closed.length > 0 || number > this.#newest.firstNumber;
    assert(hasCommits || this.#entries === 0, 'S7: a head without commits has no entries');
  }

  /** The rows of what came since are as they were before: they go back to their older entries. */
  #dissolve(generation: Generation, since: GenerationLength, rowIsClean: RowIsClean): void {
    for (let place = generation.length - 1; place >= since.entries; place -= 1) {
      const row = generation.row(place);
      const page = this.#page(row);
      const start = row & 0xffff;
      const older = this.#entryOf(generation.older(place), row);
      page[start + ROW_HEAD] = older === undefined ? 0 : generation.older(place);
      if (older === undefined) {
        assert(
          isAsBefore(generation, place, page, start),
          'S7: what is taken back leaves no trace',
        );
      } else {
        this.#releaseAfter(older, generation.older(place) & PLACE_MASK);
        older.forgetAfter(generation.older(place) & PLACE_MASK);
      }
      const set = this.#forget(generation, place);
      if (older === undefined) rowIsClean(set, row);
    }
    generation.truncate(since);
  }

  /** The row changes in the newest generation: its older entry keeps the dots that it has now. */
  #leave(headWord: number, place: number, page: Int32Array, start: number): void {
    this.#newest.linkOlder(place, headWord);
    const older = this.#entryOf(headWord, this.#newest.row(place));
    assert(older !== undefined, 'a head word leads to an entry');
    older.keepAfter(headWord & PLACE_MASK, page, start);
    this.#deps.several.hold(
      page[start + ROW_ACTOR] as number,
      page[start + ROW_COUNTER_LOW] as number,
    );
  }

  /** The generation of a head word, unless it is folded by now. */
  #entryOf(headWord: number, row: number): Generation | undefined {
    const oldest = this.#closed[0];
    if (headWord === 0 || oldest === undefined) return undefined;
    const age = (headWord >>> ENTRY_BITS) - oldest.id;
    const generation = this.#closed[age < 0 ? age + GENERATIONS_MAX : age];
    const place = headWord & PLACE_MASK;
    const isThere = generation !== undefined && place < generation.length;
    return isThere && generation.row(place) === row ? generation : undefined;
  }

  #forget(generation: Generation, place: number): MemorySet {
    const { several, registry } = this.#deps;
    several.release(generation.before(place, 0), generation.before(place, 2));
    this.#releaseAfter(generation, place);
    const set = registry.at(generation.slot(place));
    set.headEntries -= 1;
    this.#entries -= 1;
    return set;
  }

  #releaseAfter(generation: Generation, place: number): void {
    if (generation.hasAfter(place)) {
      this.#deps.several.release(generation.after(place, 0), generation.after(place, 2));
    }
  }

  #page(row: number): Int32Array {
    return this.#deps.heap.words[row >>> 16] as Int32Array;
  }
}

const PLACE_MASK = 2 ** ENTRY_BITS - 1;

function isAsBefore(
  generation: Generation,
  place: number,
  page: Int32Array,
  start: number,
): boolean {
  return [0, 1, 2].every(
    (word) => generation.before(place, word) === page[start + ROW_ACTOR + word],
  );
}
