// Applies operations that were made earlier or elsewhere: drops the dots that they list, adds their new ones.
//
// S2  Members are those of the tag model: adds make tags, removes kill the tags that their writer had seen.
// S4  Operations apply in causal order, so every dot that is dropped or added is covered.
import { type Dot, formatActor, formatDot, SynclineError } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type { ElementHeap } from '../memory/element-heap.js';
import { ROW_ACTOR, ROW_COUNTER_HIGH, ROW_COUNTER_LOW, ROW_HEAD } from '../memory/row-layout.js';
import type { Operation } from '../operation/operation.js';
import type { AppliedVersion } from './applied-version.js';
import type { ElementChanges } from './element-changes.js';
import type { ElementRows } from './element-rows.js';
import type { LiveDigest } from './live-digest.js';
import type { MemorySet } from './memory-set.js';
import type { DotWords, SeveralDots } from './row-dots.js';

export interface ReplayDeps {
  readonly heap: ElementHeap;
  readonly rows: ElementRows;
  readonly several: SeveralDots;
  readonly version: AppliedVersion;
  readonly digest: LiveDigest;
  readonly changes: ElementChanges;
  readonly setOf: (list: ByteList, index: number) => MemorySet;
}

/** Takes about as long as a turn should. */
const SLICE_MEMBERS = 512;

export class Replay {
  readonly #deps: ReplayDeps;
  readonly #words: DotWords = { actor: 0, high: 0, low: 0 };

  constructor(deps: ReplayDeps) {
    this.#deps = deps;
  }

  /**
   * Refuses an operation that is not the next of its actor, or that came before what it depends on. Each step
   * applies a slice of a large one; nothing else may be applied in between.
   */
  *apply(operation: Operation): Generator<void, void> {
    const { version, changes } = this.#deps;
    this.#checkReady(operation);
    changes.startOperation();
    for (let member = 0; member < operation.members.length; member += 1) {
      if (member % SLICE_MEMBERS === SLICE_MEMBERS - 1) yield;
      this.#applyMember(operation, member);
    }
    const { actor, base, count } = operation;
    changes.commit.versions.push({ actor, counter: version.counterOf(actor) });
    version.advance(actor, base + count - 1);
  }

  #checkReady({ actor, base, dependencies }: Operation): void {
    const { version } = this.#deps;
    const applied = version.counterOf(actor);
    if (applied !== base - 1) {
      throw new SynclineError(
        'corrupt',
        `an operation of ${formatActor(actor)} begins with counter ${base}, but ${applied} is the last one applied. The journal is damaged`,
      );
    }
    const missing = dependencies
      .entries()
      .find((dot) => dot.counter > version.counterOf(dot.actor));
    if (missing !== undefined) {
      throw new SynclineError(
        'corrupt',
        `an operation of ${formatActor(actor)} depends on ${formatDot(missing)}, which is not applied. The journal is damaged`,
      );
    }
  }

  #applyMember(operation: Operation, member: number): void {
    const { rows, heap, several, changes, setOf } = this.#deps;
    const set = setOf(operation.sets, operation.setOf(member));
    const counter = operation.counterOf(member);
    const row =
      counter > 0
        ? rows.findOrInsert(set, operation.members, member)
        : rows.findPresent(set, operation.members, member);
    if (row === 0) return;
    const page = heap.words[row >>> 16] as Int32Array;
    const start = row & 0xffff;
    const before = several.read({
      actor: page[start + ROW_ACTOR] as number,
      high: page[start + ROW_COUNTER_HIGH] as number,
      low: page[start + ROW_COUNTER_LOW] as number,
    });
    const after = this.#replaceDots(operation, before, counter);
    if (counter === 0 && after.length === before.length) {
      if (page[start + ROW_HEAD] === 0) rows.settle(set, row); // it may have come for this only
      return;
    }
    changes.touch(set, row, page, start);
    several.write(after, this.#words);
    changes.write(set, row, this.#words);
  }

  #replaceDots(
    { actor, dropped }: Operation,
    before: readonly Dot[],
    counter: number,
  ): readonly Dot[] {
    const { digest } = this.#deps;
    const after: Dot[] = [];
    for (const dot of before) {
      if (dropped.has(dot.actor, dot.counter)) digest.drop(dot.actor, ...wordsOf(dot.counter));
      else after.push(dot);
    }
    if (counter > 0) {
      digest.add(actor, ...wordsOf(counter));
      after.push({ actor, counter });
    }
    return after;
  }
}

function wordsOf(counter: number): [high: number, low: number] {
  return [Math.floor(counter / 2 ** 32), counter | 0];
}
