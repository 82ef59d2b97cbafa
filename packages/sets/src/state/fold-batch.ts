// The batch that folds one generation of the head, built in steps so that no turn is long.
//
// It brings the elements, dots and sets that the generation has changed to what they were at its end, with
// the version and the fold record of that moment, and deletes the journal up to there. Before and after
// each batch the storage holds the sets as they were after some commit. An element whose change was taken
// back folds to nothing.
import {
  compareDots,
  DOT_BYTES,
  type Dot,
  type StorageBatch,
  type VersionVector,
} from '@syncline/kernel';
import type { ElementHeap } from '../memory/element-heap.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  ROW_ACTOR,
  ROW_COUNTER_HIGH,
  ROW_COUNTER_LOW,
  ROW_HASH_HIGH,
  ROW_HASH_LOW,
  readWord,
} from '../memory/row-layout.js';
import { writeUint64 } from './big-endian.js';
import { encodeFold } from './fold-record.js';
import type { Generation, GenerationEnd } from './generation.js';
import { type DotWords, NO_DOT, SEVERAL_DOTS, type SeveralDots } from './row-dots.js';
import type { SetRegistry } from './set-registry.js';
import {
  DOT_KEY_BYTES,
  dotKey,
  elementKey,
  elementKeyBytes,
  foldKey,
  journalKey,
  setKey,
  versionKey,
  writeDotKey,
  writeDotWords,
  writeElementKey,
} from './storage-keys.js';
import {
  elementValueBytes,
  encodeCardinality,
  encodeDots,
  encodeElement,
  writeElement,
} from './storage-values.js';

const NO_BYTES: Uint8Array = new Uint8Array(0);

export interface FoldBatchDeps {
  readonly heap: ElementHeap;
  readonly registry: SetRegistry;
  readonly several: SeveralDots;
}

export interface FoldBatchOptions {
  readonly generation: Generation;
  readonly end: GenerationEnd;
  /** To be filled. It is empty. */
  readonly batch: StorageBatch;
  /** What the last fold has written. */
  readonly foldedVersion: VersionVector;
}

export class FoldBatch {
  /** Complete once `advance` gave true. */
  readonly batch: StorageBatch;
  readonly generation: Generation;
  readonly end: GenerationEnd;
  readonly #deps: FoldBatchDeps;
  readonly #foldedVersion: VersionVector;
  readonly #before: DotWords = { actor: 0, high: 0, low: 0 };
  readonly #after: DotWords = { actor: 0, high: 0, low: 0 };
  /** The element that is being folded. */
  readonly #element = {
    set: NO_BYTES,
    position: { high: 0, low: 0 },
    member: { buffer: NO_BYTES, start: 0, end: 0 },
  };
  #entry = 0;
  #set = 0;
  #number: number;
  #isComplete = false;

  constructor(deps: FoldBatchDeps, options: FoldBatchOptions) {
    this.#deps = deps;
    this.batch = options.batch;
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
    this.#readDots(place);
    if (areSame(this.#before, this.#after)) return;
    this.#readElement(place);
    const hasSeveral = this.#before.actor === SEVERAL_DOTS || this.#after.actor === SEVERAL_DOTS;
    if (hasSeveral) this.#foldSeveralDots();
    else this.#foldOneDot();
  }

  /** Nearly every element: at most one dot before, and at most one after. No object is made for it. */
  #foldOneDot(): void {
    const { batch } = this;
    const element = this.#element;
    const { set, member } = element;
    const before = this.#before;
    const after = this.#after;
    const keyBytes = elementKeyBytes(element);
    if (before.actor !== NO_DOT) {
      const at = batch.reserveDelete(DOT_KEY_BYTES);
      writeDotKey(batch.content, at, before);
    }
    if (after.actor === NO_DOT) {
      const at = batch.reserveDelete(keyBytes);
      writeElementKey(batch.content, at, element);
      return;
    }
    const elementAt = batch.reservePut(keyBytes, DOT_BYTES);
    writeElementKey(batch.content, elementAt, element);
    writeDotWords(batch.content, elementAt + keyBytes, after);
    const dotAt = batch.reservePut(DOT_KEY_BYTES, elementValueBytes(set, member));
    writeDotKey(batch.content, dotAt, after);
    writeElement(batch.content, dotAt + DOT_KEY_BYTES, set, member);
  }

  #foldSeveralDots(): void {
    const { set, position, member } = this.#element;
    const before = this.#deps.several.read(this.#before);
    const after = this.#deps.several.read(this.#after);
    const key = elementKey(set, position, member);
    if (after.length > 0) this.batch.put(key, encodeDots(after));
    else this.batch.delete(key);
    for (const dot of before) if (!includes(after, dot)) this.batch.delete(keyOfDot(dot));
    for (const dot of after) {
      if (!includes(before, dot)) this.batch.put(keyOfDot(dot), encodeElement(set, member));
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

  #readElement(place: number): void {
    const { heap, registry } = this.#deps;
    const row = this.generation.row(place);
    const element = this.#element;
    element.set = registry.at(this.generation.slot(place)).name;
    element.position.high = readWord(heap, row, ROW_HASH_HIGH);
    element.position.low = readWord(heap, row, ROW_HASH_LOW);
    element.member.buffer = memberBuffer(heap, row);
    element.member.start = memberStart(row);
    element.member.end = memberEnd(heap, row);
  }

  #readDots(place: number): void {
    const { generation } = this;
    const before = this.#before;
    const after = this.#after;
    before.actor = generation.before(place, 0);
    before.high = generation.before(place, 1);
    before.low = generation.before(place, 2);
    if (generation.hasAfter(place)) {
      after.actor = generation.after(place, 0);
      after.high = generation.after(place, 1);
      after.low = generation.after(place, 2);
    } else {
      const { heap } = this.#deps;
      const row = generation.row(place);
      after.actor = readWord(heap, row, ROW_ACTOR);
      after.high = readWord(heap, row, ROW_COUNTER_HIGH);
      after.low = readWord(heap, row, ROW_COUNTER_LOW);
    }
  }
}

function keyOfDot({ actor, counter }: Dot): Uint8Array {
  return dotKey(actor, Math.floor(counter / 2 ** 32), counter >>> 0);
}

function includes(dots: readonly Dot[], dot: Dot): boolean {
  return dots.some((other) => compareDots(other, dot) === 0);
}

/** Equal words stand for equal dots. Lists are not shared between elements. */
function areSame(left: DotWords, right: DotWords): boolean {
  return left.actor === right.actor && left.high === right.high && left.low === right.low;
}
