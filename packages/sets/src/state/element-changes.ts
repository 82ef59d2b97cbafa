// Changes the dots of rows, so that it can be undone, is in the head, and all counts follow.
//
// An element is logged once per operation, at its first change there. The digest is not followed here but
// at the end of an operation, when it is known which dots have come of it.
import type { ElementHeap } from '../memory/element-heap.js';
import { ROW_ACTOR, ROW_COUNTER_HIGH, ROW_COUNTER_LOW, ROW_TOUCH } from '../memory/row-layout.js';
import { CommitUndo } from './commit-undo.js';
import type { ElementRows } from './element-rows.js';
import type { Head } from './head.js';
import type { LiveDigest } from './live-digest.js';
import type { MemorySet } from './memory-set.js';
import { type DotWords, NO_DOT, SEVERAL_DOTS, type SeveralDots } from './row-dots.js';
import type { SetRegistry } from './set-registry.js';
import type { UndoLog } from './undo-log.js';

export interface ElementChangesDeps {
  readonly heap: ElementHeap;
  readonly registry: SetRegistry;
  readonly several: SeveralDots;
  readonly head: Head;
  readonly rows: Pick<ElementRows, 'settle'>;
  readonly digest: LiveDigest;
}

export class ElementChanges {
  readonly #deps: ElementChangesDeps;
  readonly #now: DotWords = { actor: 0, high: 0, low: 0 };
  #commit: CommitUndo;
  #operationStart = 0;
  #setsCount: number;

  constructor(
    deps: ElementChangesDeps,
    start: { readonly number: number; readonly setsCount: number },
  ) {
    this.#deps = deps;
    this.#commit = new CommitUndo(start.number);
    this.#setsCount = start.setsCount;
  }

  /** Sets that are not empty. */
  get setsCount(): number {
    return this.#setsCount;
  }

  /** The commit that changes belong to. */
  get commit(): CommitUndo {
    return this.#commit;
  }

  /** Where the running operation begins in the undo log of the commit. */
  get operationStart(): number {
    return this.#operationStart;
  }

  useCommit(commit: CommitUndo): void {
    this.#commit = commit;
    this.#operationStart = 0;
  }

  startOperation(): void {
    this.#operationStart = this.#commit.elements.length;
    this.#deps.head.startOperation();
  }

  /** To be called before a row changes. True when the running operation has changed it before. */
  touch(set: MemorySet, row: number, page: Int32Array, start: number): boolean {
    const undo = this.#commit.elements;
    const place = page[start + ROW_TOUCH] as number;
    if (place >= this.#operationStart && place < undo.length && undo.row(place) === row)
      return true;
    this.#deps.head.note(set, row, page, start);
    page[start + ROW_TOUCH] = undo.push(set, row, page, start);
    set.commit = this.#commit.number;
    if (page[start + ROW_ACTOR] === SEVERAL_DOTS) {
      this.#deps.several.hold(SEVERAL_DOTS, page[start + ROW_COUNTER_LOW] as number);
    }
    return false;
  }

  /** Replaces the dots of a row that was touched. Takes over the hold of the words given. */
  write(set: MemorySet, row: number, words: DotWords): void {
    const page = this.#deps.heap.words[row >>> 16] as Int32Array;
    const start = row & 0xffff;
    const before = page[start + ROW_ACTOR] as number;
    this.#deps.several.release(before, page[start + ROW_COUNTER_LOW] as number);
    page[start + ROW_ACTOR] = words.actor;
    page[start + ROW_COUNTER_HIGH] = words.high;
    page[start + ROW_COUNTER_LOW] = words.low;
    if (before === NO_DOT && words.actor !== NO_DOT) this.#appear(set);
    else if (before !== NO_DOT && words.actor === NO_DOT) this.#vanish(set);
  }

  /** Takes back what the running operation has changed. The digest does not know of it yet. */
  abandonOperation(): void {
    const { elements, number, isEmpty } = this.#commit;
    for (let place = elements.length - 1; place >= this.#operationStart; place -= 1) {
      const set = this.#deps.registry.at(elements.slot(place));
      this.#revert(set, elements, place);
      // Nobody must wait for a commit that has nothing to store.
      if (isEmpty) set.commit = number - 1;
    }
    elements.truncate(this.#operationStart);
    this.#deps.head.abandonOperation((set, row) => this.#deps.rows.settle(set, row));
  }

  /** Takes back all changes of a commit, the running operation not among them. */
  undo(commit: CommitUndo): void {
    const { elements, number } = commit;
    for (let place = elements.length - 1; place >= 0; place -= 1) {
      const set = this.#deps.registry.at(elements.slot(place));
      this.#readRow(elements.row(place));
      this.#dropFromDigest(this.#now);
      this.#revert(set, elements, place);
      this.#readRow(elements.row(place));
      this.#addToDigest(this.#now);
      if (set.commit >= number) set.commit = number - 1;
    }
    elements.truncate(0);
  }

  /** The commit is stored: it will not be taken back. */
  forget(commit: CommitUndo): void {
    const { elements } = commit;
    const { several } = this.#deps;
    const end = several.size === 0 ? 0 : elements.length;
    for (let place = 0; place < end; place += 1) {
      several.release(elements.actor(place), elements.low(place));
    }
    elements.truncate(0);
  }

  /** The row takes over the hold of the log. */
  #revert(set: MemorySet, elements: UndoLog, place: number): void {
    this.write(set, elements.row(place), {
      actor: elements.actor(place),
      high: elements.high(place),
      low: elements.low(place),
    });
  }

  #readRow(row: number): void {
    const page = this.#deps.heap.words[row >>> 16] as Int32Array;
    const start = row & 0xffff;
    this.#now.actor = page[start + ROW_ACTOR] as number;
    this.#now.high = page[start + ROW_COUNTER_HIGH] as number;
    this.#now.low = page[start + ROW_COUNTER_LOW] as number;
  }

  #addToDigest(words: DotWords): void {
    for (const { actor, counter } of this.#deps.several.read(words)) {
      this.#deps.digest.add(actor, Math.floor(counter / 2 ** 32), counter | 0);
    }
  }

  #dropFromDigest(words: DotWords): void {
    for (const { actor, counter } of this.#deps.several.read(words)) {
      this.#deps.digest.drop(actor, Math.floor(counter / 2 ** 32), counter | 0);
    }
  }

  #appear(set: MemorySet): void {
    set.cardinality += 1;
    if (set.cardinality === 1) this.#setsCount += 1;
    if (set.watchers !== undefined) touchWatchers(set);
  }

  #vanish(set: MemorySet): void {
    set.cardinality -= 1;
    if (set.cardinality === 0) this.#setsCount -= 1;
    if (set.watchers !== undefined) touchWatchers(set);
  }
}

function touchWatchers({ watchers }: MemorySet): void {
  for (const watcher of watchers ?? []) watcher.isTouched = true;
}
