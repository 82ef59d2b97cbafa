// The batch that folds one generation of the head, built in steps so that no turn is long.
//
// It brings the elements, dots and sets that the generation has changed to what they were at its end, with
// the version and the fold record of that moment, and deletes the journal up to there. Before and after
// each batch the storage holds the sets as they were after some commit. An element whose change was taken
// back folds to nothing.
import { compareDots, type Dot, StorageBatch, type VersionVector } from '@syncline/kernel';
import type { ElementHeap } from '../memory/element-heap.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  ROW_ACTOR,
  ROW_HASH_HIGH,
  ROW_HASH_LOW,
  readWord,
} from '../memory/row-layout.js';
import { writeUint64 } from './big-endian.js';
import { encodeFold } from './fold-record.js';
import type { Generation, GenerationEnd } from './generation.js';
import type { SeveralDots } from './row-dots.js';
import type { SetRegistry } from './set-registry.js';
import { dotKey, elementKey, foldKey, journalKey, setKey, versionKey } from './storage-keys.js';
import { encodeCardinality, encodeDots, encodeElement } from './storage-values.js';

export interface FoldBatchDeps {
  readonly heap: ElementHeap;
  readonly registry: SetRegistry;
  readonly several: SeveralDots;
}

export interface FoldBatchOptions {
  readonly generation: Generation;
  readonly end: GenerationEnd;
  /** What the last fold has written. */
  readonly foldedVersion: VersionVector;
}

export class FoldBatch {
  /** Complete once `advance` gave true. */
  readonly batch = new StorageBatch();
  readonly generation: Generation;
  readonly end: GenerationEnd;
  readonly #deps: FoldBatchDeps;
  readonly #foldedVersion: VersionVector;
  #entry = 0;
  #set = 0;
  #number: number;
  #isComplete = false;

  constructor(deps: FoldBatchDeps, options: FoldBatchOptions) {
    this.#deps = deps;
    this.generation = options.generation;
    this.end = options.end;
    this.#foldedVersion = options.foldedVersion;
    this.#number = options.generation.firstNumber;
  }

  /** The last journal number in it. */
  get number(): number {
    return this.end.fold.number;
  }

  /** Adds about so many elements or keys to the batch; true when it is complete. */
  advance(stepsMax: number): boolean {
    for (let step = 0; step < stepsMax; step += 1) {
      if (!this.#step()) return true;
    }
    return false;
  }

  /** False when there is nothing left to do. */
  #step(): boolean {
    if (this.#entry < this.generation.length) {
      this.#foldElement(this.#entry);
      this.#entry += 1;
    } else if (this.#set < this.generation.sets.length) {
      this.#foldSet(this.#set);
      this.#set += 1;
    } else if (this.#number <= this.number) {
      this.batch.delete(journalKey(this.#number));
      this.#number += 1;
    } else if (!this.#isComplete) {
      this.#foldVersion();
      this.batch.put(foldKey, encodeFold(this.end.fold));
      this.#isComplete = true;
    }
    return !this.#isComplete;
  }

  #foldElement(place: number): void {
    const { heap, registry } = this.#deps;
    const before = this.#dotsBefore(place);
    const after = this.#dotsAfter(place);
    if (areEqual(before, after)) return;
    const row = this.generation.row(place);
    const { name } = registry.at(this.generation.slot(place));
    const member = {
      buffer: memberBuffer(heap, row),
      start: memberStart(row),
      end: memberEnd(heap, row),
    };
    const position = {
      high: readWord(heap, row, ROW_HASH_HIGH),
      low: readWord(heap, row, ROW_HASH_LOW),
    };
    const key = elementKey(name, position, member);
    if (after.length > 0) this.batch.put(key, encodeDots(after));
    else this.batch.delete(key);
    for (const dot of before) if (!includes(after, dot)) this.batch.delete(keyOfDot(dot));
    for (const dot of after) {
      if (!includes(before, dot)) this.batch.put(keyOfDot(dot), encodeElement(name, member));
    }
  }

  #foldSet(place: number): void {
    const set = this.generation.sets[place];
    if (set === undefined) return;
    const key = setKey(set.name, { high: set.positionHigh, low: set.positionLow });
    const cardinality = this.generation.cardinalities[place] ?? 0;
    if (cardinality > 0) this.batch.put(key, encodeCardinality(cardinality));
    else this.batch.delete(key);
  }

  #foldVersion(): void {
    for (const { actor, counter } of this.end.version.entries()) {
      if (counter === this.#foldedVersion.counterOf(actor)) continue;
      const value = new Uint8Array(8);
      writeUint64(value, 0, counter);
      this.batch.put(versionKey(actor), value);
    }
  }

  #dotsBefore(place: number): readonly Dot[] {
    return this.#deps.several.read({
      actor: this.generation.before(place, 0),
      high: this.generation.before(place, 1),
      low: this.generation.before(place, 2),
    });
  }

  #dotsAfter(place: number): readonly Dot[] {
    const { generation } = this;
    const row = generation.row(place);
    const word = (index: number) =>
      generation.hasAfter(place)
        ? generation.after(place, index)
        : readWord(this.#deps.heap, row, ROW_ACTOR + index);
    return this.#deps.several.read({ actor: word(0), high: word(1), low: word(2) });
  }
}

function keyOfDot({ actor, counter }: Dot): Uint8Array {
  return dotKey(actor, Math.floor(counter / 2 ** 32), counter >>> 0);
}

function includes(dots: readonly Dot[], dot: Dot): boolean {
  return dots.some((other) => compareDots(other, dot) === 0);
}

function areEqual(left: readonly Dot[], right: readonly Dot[]): boolean {
  return left.length === right.length && left.every((dot) => includes(right, dot));
}
